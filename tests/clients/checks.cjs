// What every TypeScript client must be able to do with `visus`, whatever its API looks like.
//
// A client is an object with: version(), tools(), prompts(), templates(), call(name, arguments, {onprogress, signal}),
// read(uri), close(). Both SDKs are wrapped into that by `typescript_sdk.cjs`.
'use strict';
const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { isDeepStrictEqual } = require('node:util');

const TOKEN = 'only-for-this-test';
// Generous: nothing here is about speed, and a loaded machine is slow.
const PATIENCE = 60_000;

function check(what, holds) {
  if (!holds) throw new Error(`missed: ${what}`);
  console.log(`    ok: ${what}`);
}

/** Real clips of the self-test, and a long black one that takes no room on the disk. */
function makeClips(visus) {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'visus-clients-')));
  const made = spawnSync(visus, ['selftest', '--write-clips', folder], { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`no clips: ${made.stderr}`);
  for (const name of ['long_ref.yuv', 'long_dis.yuv']) {
    fs.writeFileSync(path.join(folder, name), '');
    fs.truncateSync(path.join(folder, name), ((640 * 360 * 3) / 2) * 20_000);
  }
  return folder;
}

/** A server of our own on a port that the system chooses. */
async function startServer(visus, folder) {
  const env = { ...process.env, VMAFX_MCP_HTTP_TOKEN: TOKEN };
  const server = spawn(visus, ['serve', '--port', '0', '--allow', folder], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const port = await new Promise((resolve, reject) => {
    let said = '';
    server.stderr.on('data', (piece) => {
      said += piece;
      const found = said.match(/127\.0\.0\.1:(\d+)/);
      if (found) resolve(Number(found[1]));
    });
    server.on('exit', () => reject(new Error(`the server ended before it listened: ${said}`)));
  });
  const stop = () => new Promise((resolve) => { server.on('exit', resolve); server.kill('SIGTERM'); });
  return { url: new URL(`http://127.0.0.1:${port}/mcp`), headers: { Authorization: `Bearer ${TOKEN}` }, stop };
}

const clip = (folder, name) => ({
  ref: path.join(folder, `${name}_ref.y4m`), dis: path.join(folder, `${name}_dis.y4m`),
});
const longClip = (folder) => ({
  ref: path.join(folder, 'long_ref.yuv'), dis: path.join(folder, 'long_dis.yuv'),
  width: 640, height: 360, pixfmt: '420', bitdepth: 8,
});
const errorOf = (result) => JSON.parse(result.content[0].text).error;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function lists(client) {
  const tools = await client.tools();
  check('tools are listed, vmaf_score first', tools[0].name === 'vmaf_score');
  check('every tool has a title, hints and an output schema',
    tools.every((tool) => tool.title && tool.annotations && tool.outputSchema));
  check('prompts are listed', (await client.prompts()).some((prompt) => prompt.name === 'judge_encode'));
  check('resource templates are listed',
    (await client.templates()).some((template) => template.uriTemplate.includes('jobs/{id}')));
}

async function calls(client, folder) {
  const result = await client.call('vmaf_score', clip(folder, 'blocks_8-bit'));
  check('vmaf_score answers without an error', !result.isError);
  const mean = result.structuredContent.pooled_metrics.vmaf.mean;
  check(`the score is a number between 0 and 100 (${mean})`, Number.isFinite(mean) && mean >= 0 && mean <= 100);
  check('the text says the same as the data',
    isDeepStrictEqual(JSON.parse(result.content[0].text), result.structuredContent));
  return result.structuredContent.job_id;
}

async function reads(client, job) {
  const text = async (uri) => JSON.parse((await client.read(uri)).contents[0].text);
  check('a model can be read', (await text('visus://models/vmaf_v0.6.1')).name === 'vmaf_v0.6.1');
  check("the job's report can be read", (await text(`visus://jobs/${job}`)).job_id === job);
  check('one frame of it can be read', (await text(`visus://jobs/${job}/frames?from=1&count=1`)).frames.length === 1);
  const error = await client.read('visus://models/no_such_model').then(() => null, (thrown) => thrown);
  check('an unknown resource is an error', error && String(error.message).includes('no_such_model'));
}

async function errs(client, folder) {
  const missing = await client.call('vmaf_score', { ref: clip(folder, 'blur_8-bit').ref });
  check('a missing argument is named',
    missing.isError && errorOf(missing) === "tool 'vmaf_score' missing required argument: 'dis'");
  const outside = await client.call('vmaf_score', { ref: '/etc/hostname', dis: '/etc/hostname' });
  check('a file outside the roots is refused',
    outside.isError && errorOf(outside).includes('not under an allowlisted root'));
}

async function progresses(client, folder) {
  const heard = [];
  const work = { ...longClip(folder), frame_cnt: 400, detail: 'summary' };
  const result = await client.call('vmaf_score', work, { onprogress: (progress) => heard.push(progress) });
  check('a call with progress answers', !result.isError);
  check(`progress came ${heard.length} times, with a total`, heard.length > 0 && heard.every(({ total }) => total === 400));
  check('it only grows', heard.every(({ progress }, at) => at === 0 || progress > heard[at - 1].progress));
}

async function cancels(client, folder) {
  const statuses = async () => (await client.call('list_jobs', {})).structuredContent.jobs.map((job) => job.status);
  const control = new AbortController();
  let begin;
  const begun = new Promise((resolve) => { begin = resolve; });
  const call = client.call('vmaf_score', longClip(folder), { signal: control.signal, onprogress: () => begin() });
  const ended = call.then(() => null, (thrown) => thrown);
  await begun;
  check('the job is running', (await statuses()).includes('running'));
  control.abort('not wanted any more');
  check('the call is rejected', (await ended) !== null);
  const deadline = Date.now() + PATIENCE;
  while ((await statuses()).includes('running') && Date.now() < deadline) await pause(50);
  const left = await statuses();
  check('cancelled: the job has ended', left.includes('cancelled') && !left.includes('running'));
}

/** All of it, with one client. */
async function everything(name, client, version, folder) {
  console.log(`  ${name}`);
  try {
    check(`the protocol is ${version}`, client.version() === version);
    await lists(client);
    await reads(client, await calls(client, folder));
    await errs(client, folder);
    await progresses(client, folder);
    await cancels(client, folder);
  } finally {
    await client.close();
  }
}

module.exports = { everything, makeClips, startServer };
