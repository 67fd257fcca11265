// The TypeScript SDKs as clients of `visus`: the older one (v1) and the newer one (v2), both transports.
//
// Usage: node typescript_sdk.cjs PATH_OF_VISUS FOLDER_WITH_NODE_MODULES
//
// Makes its own clips, starts its own servers, prints what it checked, and ends with 1 at the first miss.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { createRequire } = require('node:module');
const { everything, makeClips, startServer } = require('./checks.cjs');

const [visus, peers] = process.argv.slice(2);
const from = createRequire(path.resolve(peers, 'package.json'));
const WHO = { name: 'visus-client-test', version: '1.0.0' };
const LONG = 300_000;

function older() {
  const { Client } = from('@modelcontextprotocol/sdk/client/index.js');
  const { StdioClientTransport } = from('@modelcontextprotocol/sdk/client/stdio.js');
  const { StreamableHTTPClientTransport } = from('@modelcontextprotocol/sdk/client/streamableHttp.js');
  return {
    make: () => new Client(WHO),
    version: (client, transport) => transport.protocolVersion ?? client.getNegotiatedProtocolVersion?.() ?? seen(client),
    call: (client, name, given, options) => client.callTool({ name, arguments: given }, undefined, options),
    StdioClientTransport, StreamableHTTPClientTransport,
  };
}

function newer(mode) {
  const { Client, StreamableHTTPClientTransport } = from('@modelcontextprotocol/client');
  const { StdioClientTransport } = from('@modelcontextprotocol/client/stdio');
  return {
    make: () => new Client(WHO, { versionNegotiation: { mode } }),
    version: (client) => client.getNegotiatedProtocolVersion(),
    call: (client, name, given, options) => client.callTool({ name, arguments: given }, options),
    StdioClientTransport, StreamableHTTPClientTransport,
  };
}

/** The first SDK tells its transport the version it agreed on; over stdio nobody asks for it. */
const seen = (client) => client.agreedVersion;

/** A connected client with the few methods that the checks use. */
async function connect(sdk, transport) {
  const client = sdk.make();
  transport.setProtocolVersion ??= (version) => { client.agreedVersion = version; };
  await client.connect(transport);
  return {
    version: () => sdk.version(client, transport),
    tools: async () => (await client.listTools()).tools,
    prompts: async () => (await client.listPrompts()).prompts,
    templates: async () => (await client.listResourceTemplates()).resourceTemplates,
    call: (name, given, options) => sdk.call(client, name, given, { timeout: LONG, ...options }),
    read: (uri) => client.readResource({ uri }),
    close: () => client.close(),
  };
}

async function main() {
  const folder = makeClips(visus);
  try {
    const kinds = [
      ['@modelcontextprotocol/sdk, older era', older(), '2025-11-25'],
      ['@modelcontextprotocol/client, newer era', newer({ pin: '2026-07-28' }), '2026-07-28'],
      ['@modelcontextprotocol/client, finding out by itself', newer('auto'), '2026-07-28'],
    ];
    for (const [name, sdk, version] of kinds) {
      const stdio = new sdk.StdioClientTransport({ command: visus, args: ['mcp', '--allow', folder], stderr: 'inherit' });
      await everything(`${name}, over stdio`, await connect(sdk, stdio), version, folder);
      const server = await startServer(visus, folder);
      try {
        const http = new sdk.StreamableHTTPClientTransport(server.url, { requestInit: { headers: server.headers } });
        await everything(`${name}, over HTTP`, await connect(sdk, http), version, folder);
      } finally {
        await server.stop();
      }
    }
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
