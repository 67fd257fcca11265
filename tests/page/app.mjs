// The MCP App in a real browser, inside the host of the extension's own SDK: node app.mjs VISUS PEERS [PICTURES]
//
// `visus mcp` is the server, the SDK's AppBridge the host, and the document runs in a sandboxed frame of Chromium. Messages
// between frame and bridge go through the page around the frame, as in any host.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { Browser, PATIENCE, conclude, ok } from "./harness.mjs";

const [visus, peers, pictures] = process.argv.slice(2);
const require = createRequire(join(peers, "package.json"));
const { Client } = await import(pathToFileURL(require.resolve("@modelcontextprotocol/client")));
const { StdioClientTransport } = await import(pathToFileURL(require.resolve("@modelcontextprotocol/client/stdio")));
const { AppBridge, RESOURCE_MIME_TYPE, getToolUiResourceUri } = await import(pathToFileURL(join(peers, "node_modules/@modelcontextprotocol/ext-apps/dist/src/app-bridge.js")));

const folder = mkdtempSync(join(tmpdir(), "visus-app-"));
execFileSync(visus, ["demo", "--keep", folder, "--quiet"]);
const request = { ref: join(folder, "reference.y4m"), dis: join(folder, "distorted.y4m") };

/** What the bridge sends goes to the frame; what the frame sends comes back by `receive`. */
class PageTransport {
  constructor(page) {
    this.page = page;
  }
  async start() {}
  async send(message) {
    await this.page.evaluate((message) => document.querySelector("iframe").contentWindow.postMessage(message, "*"), message);
  }
  async close() {
    this.onclose?.();
  }
}

const client = new Client({ name: "visus-app-test", version: "1.0.0" });
const browser = await Browser.launch(peers, pictures);
try {
  await client.connect(new StdioClientTransport({ command: visus, args: ["mcp", "--allow", folder] }));
  const { tools } = await client.listTools();
  const shown = tools.filter((tool) => getToolUiResourceUri(tool));
  ok("tools name the document", shown.map((tool) => tool.name).join() === "vmaf_score,describe_worst_frames", shown.map((tool) => tool.name).join());
  const uri = getToolUiResourceUri(shown[0]);
  ok("the document is listed", (await client.listResources()).resources.some((one) => one.uri === uri && one.mimeType === RESOURCE_MIME_TYPE));
  const [document] = (await client.readResource({ uri })).contents;
  ok("the document has the extension's type", document.mimeType === RESOURCE_MIME_TYPE);
  ok("the document loads nothing", !/(src|href)="(?!data:)/.test(document.text) && !document.text.includes("@import"));

  const page = await browser.chromium.newPage({ viewport: { width: 900, height: 900 } });
  page.setDefaultTimeout(PATIENCE);
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  const elsewhere = [];
  page.on("request", (one) => !/^(data|blob|about):/.test(one.url()) && elsewhere.push(one.url()));
  const transport = new PageTransport(page);
  await page.exposeFunction("toHost", (message) => transport.onmessage?.(message));
  // The policy that the extension prescribes for documents that ask for nothing.
  const policy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'";
  await page.setContent("<!doctype html><title>Host</title><iframe title=app sandbox='allow-scripts' style='width:100%;height:860px;border:0'></iframe>");
  await page.evaluate(() => addEventListener("message", (event) => event.source === document.querySelector("iframe").contentWindow && toHost(event.data)));

  const bridge = new AppBridge(client, { name: "Host", version: "1.0.0" }, { serverTools: {}, serverResources: {} });
  const initialized = new Promise((done) => bridge.addEventListener("initialized", done));
  const sized = new Promise((done) => bridge.addEventListener("sizechange", done));
  await bridge.connect(transport);
  const html = document.text.replace("<head>", `<head><meta http-equiv="Content-Security-Policy" content="${policy}">`);
  await page.evaluate((html) => { document.querySelector("iframe").srcdoc = html; }, html);
  await initialized;
  ok("the app introduces itself to the SDK's host", true);
  await bridge.sendToolInput({ arguments: request });
  const result = await client.callTool({ name: "vmaf_score", arguments: request }, { timeout: 300_000 });
  await bridge.sendToolResult(result);
  const frame = page.frameLocator("iframe");
  await frame.locator("main button").first().waitFor();
  const text = await frame.locator("main").innerText();
  ok("the score is shown with its meaning", text.includes(result.structuredContent.pooled_metrics.vmaf.mean.toFixed(2)) && /VMAF: /.test(text), text);
  ok("the worst frames can be clicked", (await frame.locator("main button").count()) >= 1);
  await frame.locator("main button").first().click();
  await frame.locator("figure img").waitFor();
  ok("a click shows the pictures of a worst frame", await frame.locator("figure img").evaluate((image) => image.decode().then(() => image.naturalWidth > 300)));
  const { width } = await sized;
  ok("the host learns the size", width > 0, String(width));
  await browser.shoot(page, "app");
  const inner = page.frames()[1];
  await inner.evaluate(browser.axe);
  const { violations } = await inner.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  ok("axe-core finds nothing in the app", violations.length === 0, JSON.stringify(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])));
  await bridge.sendToolResult(await client.callTool({ name: "describe_worst_frames", arguments: { ...request, n: 2 } }, { timeout: 300_000 }));
  await frame.locator("figure").nth(1).waitFor();
  ok("the result of describe_worst_frames is shown", (await frame.locator("figure img").count()) === 2);
  await bridge.sendToolResult({ content: [{ type: "text", text: '{"error":"<img src=x onerror=alert(1)> is wrong"}' }], isError: true });
  await frame.getByText("is wrong").waitFor();
  ok("an error is text", (await frame.locator("main img").count()) === 0);
  ok("nothing went wrong in the app", complaints.length === 0, complaints.join("; "));
  ok("nothing was loaded from elsewhere", elsewhere.length === 0, elsewhere.join(" "));
} catch (error) {
  ok("the test goes to its end", false, error.stack ?? error);
} finally {
  await browser.close();
  await client.close().catch(() => {});
  rmSync(folder, { recursive: true, force: true });
}
conclude();
