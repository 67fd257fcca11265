// The web page in a real browser, from the first click to the last: node page.mjs VISUS PEERS [PICTURES]
//
// VISUS is the program, PEERS the folder with playwright-core and axe-core, PICTURES a folder for screenshots. Nothing here
// fails because a machine is slow: times are printed, and what is compared is work (numbers looked at per drawing).
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [visus, peers, pictures] = process.argv.slice(2);
const require = createRequire(join(peers, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const home = mkdtempSync(join(tmpdir(), "visus-page-"));
const clips = join(home, "clips");
const state = join(home, "state");
mkdirSync(clips);
if (pictures) mkdirSync(pictures, { recursive: true });

let failures = 0;
function ok(what, held, detail = "") {
  console.log(`${held ? "ok" : "FAILED"}: ${what}${held ? "" : ` ${detail}`}`);
  if (!held) failures += 1;
}

const HOSTILE = `"><img src=x onerror='globalThis.hacked=1'>'&amp;\u202egpj.mp4`;
function ffmpeg(...args) {
  execFileSync("ffmpeg", ["-v", "error", "-nostdin", "-y", ...args]);
}
function encode(from, to, crf) {
  ffmpeg("-i", join(clips, from), "-c:v", "libx264", "-preset", "veryfast", "-crf", String(crf), join(clips, to));
}
const picture = "testsrc2=s=480x270:r=25:d=4";
ffmpeg("-f", "lavfi", "-i", picture, "-vf", "noise=alls=6:allf=t", "-c:v", "libx264", "-preset", "veryfast", "-crf", "8", join(clips, "source.mp4"));
for (const crf of [28, 36, 44]) encode("source.mp4", `x264_crf${crf}.mp4`, crf);
encode("source.mp4", HOSTILE, 40);
// Long enough to be seen at work and to be cancelled on any machine: sixteen seconds, eight times over.
const parts = mkdtempSync(join(tmpdir(), "visus-parts-"));
ffmpeg("-f", "lavfi", "-i", "testsrc2=s=1920x1080:r=25:d=16", "-c:v", "libx264", "-preset", "ultrafast", "-crf", "20", join(parts, "source.mp4"));
ffmpeg("-i", join(parts, "source.mp4"), "-c:v", "libx264", "-preset", "ultrafast", "-crf", "40", join(parts, "encode.mp4"));
for (const side of ["source", "encode"]) {
  ffmpeg("-stream_loop", "7", "-i", join(parts, `${side}.mp4`), "-c", "copy", join(clips, `long_${side}.mp4`));
}
rmSync(parts, { recursive: true });
mkdirSync(join(clips, "two"));
ffmpeg("-i", join(clips, "source.mp4"), "-c", "copy", join(clips, "two", "holiday.mp4"));
ffmpeg("-i", join(clips, "x264_crf44.mp4"), "-c", "copy", join(clips, "two", "holiday_small.mp4"));

/** A score of a two-hour film, as the history keeps it. */
const FILM = "f".repeat(32);
const FRAMES = 172_800;
function writeFilm() {
  const folder = join(state, "history");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const scores = new Float32Array(FRAMES);
  for (let frame = 0; frame < FRAMES; frame += 1) scores[frame] = 92 + 5 * Math.sin(frame / 900) + 2 * Math.sin(frame * 12.9898) - (frame === 100_003 ? 60 : 0);
  const input = (name) => ({ name, path: join(clips, name), bytes: null, modified: null });
  const entry = { id: FILM, tool: "vmaf_score", created: 1_700_000_000, ended: 1_700_000_100, status: "done", error: null, request: {}, inputs: [input("film.mkv"), input("film_small.mkv")], metric: "vmaf", score: 92.1, frames: FRAMES };
  const summary = { pooled_metrics: { vmaf: { mean: 92.1, p5: 85, min: 30, harmonic_mean: 91.9, min_frame: 100_003 } }, provenance: { models: [{ name: "vmaf", model: "vmaf_v0.6.1" }], reference: { frame_rate: "24/1" } }, comparability: { comparable: "yes", reasons: [] } };
  writeFileSync(join(folder, `${FILM}.entry.json`), JSON.stringify(entry));
  writeFileSync(join(folder, `${FILM}.result.json`), JSON.stringify({ summary, steps: [], shots: [0] }));
  writeFileSync(join(folder, `${FILM}.curve`), Buffer.from(scores.buffer));
}
writeFilm();

const children = [];
function start(args, environment, stream) {
  const child = spawn(visus, args, { env: { ...process.env, VISUS_STATE_DIR: state, VISUS_CACHE_DIR: join(home, "cache"), ...environment }, stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  child.ended = new Promise((done) => child.once("exit", done));
  return new Promise((done, fail) => {
    let text = "";
    let errors = "";
    child.stdout.on("data", (data) => { text += data; look(); });
    child.stderr.on("data", (data) => { errors += data; look(); });
    child.once("exit", (code) => fail(new Error(`it ended with ${code}: ${errors}`)));
    function look() {
      const found = /https?:\/\/[^\s",:]+:(\d+)[^\s",:]*/.exec(stream === "stdout" ? text : errors);
      if (found) done({ child, url: found[0], port: Number(found[1]), said: text });
    }
  });
}
async function stop(child) {
  child.kill("SIGINT");
  await child.ended;
}

const browser = await chromium.launch({
  executablePath: process.env.VISUS_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

async function open(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("console", (message) => {
    // What the browser itself says of requests that the test makes fail on purpose.
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) page.complaints.push(message.text());
  });
  page.elsewhere = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(new URL(url).origin) && !/^(data|blob):/.test(request.url())) page.elsewhere.push(request.url());
  });
  await page.goto(url);
  return page;
}

async function accessible(page, what) {
  // The policy of the page lets no script in; the browser's own tools may bring one.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  ok(`axe-core finds nothing: ${what}`, violations.length === 0, JSON.stringify(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html.slice(0, 200))])));
}

async function shoot(page, name) {
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`) });
}

const text = (page) => page.locator("main").innerText();
const begin = (page) => page.locator("button[type=submit]", { hasText: "Score" }).click();
async function choose(page, reference, encodes) {
  await page.getByLabel(`${reference} is the reference`, { exact: true }).check();
  // What was chosen by itself is taken back.
  for (const box of await page.locator("td input[type=checkbox]").all()) await box.setChecked(false);
  for (const encode of encodes) await page.getByLabel(`Score ${encode}`, { exact: true }).check();
}

try {
  // 1. A newcomer with two files.
  let server = await start(["ui", "--no-open", join(clips, "two")], {}, "stdout");
  const begun = Date.now();
  let page = await open(server.url);
  await page.locator("dd", { hasText: "holiday.mp4" }).waitFor();
  ok("the token is gone from the address", !page.url().includes("token"));
  ok("two files are an original and its encode", /Reference\s*holiday\.mp4\s*Encode\s*holiday_small\.mp4/.test(await text(page)), await text(page));
  await accessible(page, "start");
  await begin(page);
  await page.locator("canvas.look[data-frame]").waitFor();
  console.log(`two files: score, curve and worst frame after ${Date.now() - begun} ms`);
  ok("the score is explained", /VMAF: (Bad|Poor|Fair|Good)/.test(await text(page)), await text(page));
  ok("the pair is called comparable", (await text(page)).includes("can be compared"));
  await stop(server.child);
  ok("the server ends when it is told to", true);
  await page.context().close();

  // 2. A team's server with a token of its own.
  const token = "a-token-of-the-team-0123456789";
  const serve = (port) => start(["serve", "--ui", "--port", String(port), "--allow", clips], { VMAFX_MCP_HTTP_TOKEN: token }, "stderr");
  server = await serve(0);
  const { port } = server;
  const url = `http://127.0.0.1:${port}/#token=${token}`;
  page = await open(url);
  await page.getByLabel("source.mp4 is the reference", { exact: true }).waitFor();
  ok("the history of the last server is there", (await page.locator("ul.history").innerText()).includes("holiday_small.mp4"));
  ok("what looks like a reference is chosen", (await page.locator("td input[type=radio]:checked").count()) === 1);
  await shoot(page, "start");

  // 3. A hostile name, by keyboard alone.
  const shown = HOSTILE.replace("\u202e", "");
  await choose(page, "source.mp4", [shown]);
  await page.locator("button[type=submit]", { hasText: "Score" }).focus();
  await page.keyboard.press("Enter");
  await page.locator("canvas.look[data-frame]").waitFor();
  ok("a name cannot turn the text around", !(await text(page)).includes("\u202e"));
  ok("a hostile name is text", (await page.locator("h1").innerText()).includes(shown) && !(await page.evaluate(() => globalThis.hacked)));
  await page.goBack();
  await page.getByLabel("source.mp4 is the reference", { exact: true }).waitFor();

  // 4. A long job: the curve grows, survives a reload, is cancelled.
  await choose(page, "long_source.mp4", ["long_encode.mp4"]);
  await begin(page);
  const length = () => page.evaluate(() => globalThis.visus.view()?.scores?.length ?? 0);
  await page.waitForFunction(() => (globalThis.visus.view()?.scores?.length ?? 0) > 0);
  await shoot(page, "running");
  await accessible(page, "running");
  const before = await length();
  await page.reload();
  await page.waitForFunction((count) => (globalThis.visus.view()?.scores?.length ?? 0) >= count, before);
  ok("the curve goes on after a reload", (await length()) >= before);
  const cancel = page.getByRole("button", { name: "Cancel" });
  await cancel.click();
  await page.getByText(/It was cancelled|VMAF:/).first().waitFor();
  ok("a job can be cancelled", (await text(page)).includes("It was cancelled"), await text(page));
  await accessible(page, "cancelled");

  // 5. Look at frames.
  await page.goto(`http://127.0.0.1:${port}/#/`);
  await choose(page, "source.mp4", ["x264_crf44.mp4"]);
  await begin(page);
  await page.locator("canvas.look[data-frame]").waitFor();
  const frame = () => page.locator("canvas.look").getAttribute("data-frame");
  const worst = await frame();
  const score = await page.evaluate(() => { const { scores, worst } = globalThis.visus.view(); return [scores.at(worst[0]), Math.min(...scores.scores.data.subarray(0, scores.length))]; });
  ok("the worst frame is shown first", score[0] === score[1], JSON.stringify(score));
  await page.locator("canvas.look").focus();
  await page.keyboard.press("n");
  await page.waitForFunction((old) => document.querySelector("canvas.look").dataset.frame !== old, worst);
  ok("N goes to the next worst frame", (await frame()) !== worst);
  const seen = new Set();
  for (const key of ["1", "2", "3", "4", "5"]) {
    await page.locator("canvas.look").press(key);
    await page.waitForTimeout(50);
    seen.add(await page.evaluate(() => document.querySelector("canvas.look").toDataURL().length + document.querySelector("canvas.look").toDataURL().slice(-400)));
    if (key === "2" || key === "4" || key === "5") await shoot(page, { 2: "wipe", 4: "difference", 5: "blocks" }[key]);
  }
  ok("every way of looking shows another picture", seen.size === 5, String(seen.size));
  await page.locator("canvas.look").press("1");
  const fit = await page.evaluate(() => document.querySelector("canvas.look").toDataURL());
  await page.locator("canvas.look").press("+");
  ok("zooming changes both pictures", fit !== (await page.evaluate(() => document.querySelector("canvas.look").toDataURL())));
  await page.locator("canvas.look").press("f");
  const chart = page.locator("canvas.chart");
  const box = await chart.boundingBox();
  const looked = await frame();
  await chart.click({ position: { x: box.width * 0.31, y: box.height / 2 } });
  await page.waitForFunction((old) => document.querySelector("canvas.look").dataset.frame !== old, looked);
  const picked = Number(await frame());
  ok("a click on the curve shows that frame", picked > 20 && picked < 40, String(picked));
  await chart.focus();
  await page.keyboard.press("End");
  await page.waitForFunction(() => document.querySelector("canvas.look").dataset.frame === "99");
  ok("the curve is worked by keys", (await chart.getAttribute("aria-valuetext")).startsWith("frame 99"));
  await chart.press("Home");
  await page.waitForFunction(() => document.querySelector("canvas.look").dataset.frame === "0");
  await page.getByRole("button", { name: "Next worst frame" }).click();
  await page.waitForTimeout(300);
  await page.evaluate(() => scrollTo(0, 0));
  await shoot(page, "result");
  await page.locator("canvas.look").scrollIntoViewIfNeeded();
  await shoot(page, "look");
  await accessible(page, "result");
  const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save as page" }).click()]);
  ok("the one-file page is saved", readFileSync(await saved.path(), "utf8").startsWith("<!doctype html>"));
  const [csv] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save as CSV" }).click()]);
  ok("the scores are saved as CSV", readFileSync(await csv.path(), "utf8").split("\n").length === 102);
  const [png] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save curve as PNG" }).click()]);
  ok("the curve is saved as PNG", readFileSync(await png.path()).subarray(1, 4).toString() === "PNG");

  // 6. How soon a picture of 1080p is there.
  const answer = await page.evaluate(async ({ clips, token }) => {
    const headers = { Authorization: `Bearer ${token}` };
    const made = await (await fetch("/v1/jobs", { method: "POST", headers, body: JSON.stringify({ reference: `${clips}/long_source.mp4`, distorted: `${clips}/long_encode.mp4`, model: "vmaf_v0.6.1", frame_cnt: 60 }) })).json();
    for (;;) {
      const { entry } = await (await fetch(`/v1/history/${made.job_id}`, { headers })).json();
      if (entry.status === "done") break;
      if (entry.status === "failed") return { failed: entry.error };
      await new Promise((done) => setTimeout(done, 100));
    }
    const times = [];
    for (const frame of [0, 59, 30, 45]) {
      const begun = performance.now();
      const response = await fetch(`/v1/history/${made.job_id}/frames/${frame}/distorted`, { headers });
      const bitmap = await createImageBitmap(await response.blob());
      times.push([frame, Math.round(performance.now() - begun), bitmap.width]);
    }
    return { times };
  }, { clips, token });
  ok("pictures of 1080p arrive", answer.times?.every(([, , width]) => width === 1920), JSON.stringify(answer));
  console.log(`pictures of 1080p (frame, ms): ${JSON.stringify(answer.times?.map(([frame, ms]) => [frame, ms]))}`);

  // 7. Compare three encodes.
  await page.goto(`http://127.0.0.1:${port}/#/`);
  await choose(page, "source.mp4", ["x264_crf28.mp4", "x264_crf36.mp4", "x264_crf44.mp4"]);
  await begin(page);
  await page.locator("svg.rate").waitFor();
  await page.getByText(/worse|better|may be chance/).first().waitFor();
  const table = await page.locator("main table").innerText();
  ok("three encodes are compared", ["x264_crf28.mp4", "x264_crf36.mp4", "x264_crf44.mp4"].every((name) => table.includes(name)));
  ok("worse encodes are called worse", (table.match(/: worse/g) ?? []).length === 2, table);
  ok("encodes have points on the axis of rates", (await page.locator("svg.rate circle").count()) === 3);
  await page.evaluate(() => scrollTo(0, 0));
  await shoot(page, "compare");
  await accessible(page, "compare");

  // 8. A search, live.
  await page.goto(`http://127.0.0.1:${port}/#/tune`);
  await page.getByLabel("Source, as a path").fill(join(clips, "source.mp4"));
  await page.getByLabel("Encoders").fill("libx264");
  await page.getByLabel("Targets").fill("70");
  await accessible(page, "tune");
  await page.getByRole("button", { name: "Start" }).click();
  await page.locator("svg.rate circle").first().waitFor();
  await page.locator("main table").waitFor();
  ok("a search is shown while it runs and when it is done", (await page.locator("main table").innerText()).includes("libx264"));
  await shoot(page, "tune");
  await accessible(page, "search");

  // 9. A film of two hours.
  await page.goto(`http://127.0.0.1:${port}/#/run/${FILM}`);
  await page.waitForFunction((frames) => globalThis.visus.view()?.scores?.length === frames, FRAMES);
  await page.waitForFunction(() => globalThis.visus.view().chart.draws > 0);
  const panned = await page.evaluate(async () => {
    const { chart, scores, worst } = globalThis.visus.view();
    chart.zoom(0.25, 80_000);
    const [times, touched] = [[], []];
    for (let step = 0; step < 60; step += 1) {
      chart.moveTo(40_000 + step * 700);
      const begun = performance.now();
      chart.draw();
      times.push(performance.now() - begun);
      touched.push(scores.touched);
      await new Promise((done) => requestAnimationFrame(done));
    }
    return { worst: worst[0], times: times.sort((a, b) => a - b), touched: Math.max(...touched), width: chart.width() };
  });
  ok("the worst frame of a long film is found", panned.worst === 100_003, JSON.stringify(panned.worst));
  ok("a drawing looks at a few numbers per pixel", panned.touched < 40 * panned.width, `${panned.touched} for ${panned.width} pixels`);
  console.log(`172,800 frames: ${panned.touched} numbers for ${Math.round(panned.width)} pixels; drawing takes ${panned.times[30].toFixed(1)} ms (median), ${panned.times[59].toFixed(1)} ms at most`);
  await page.evaluate(() => globalThis.visus.view().chart.showAll());
  await page.waitForTimeout(200);
  await page.evaluate(() => scrollTo(0, 0));
  await shoot(page, "film");

  // 10. The server goes and comes back.
  await page.goto(`http://127.0.0.1:${port}/#/`);
  await page.locator("ul.history").waitFor();
  await stop(server.child);
  await page.locator("#connection:visible").waitFor();
  ok("a server that is gone is noticed", (await page.locator("#connection").innerText()).includes("does not answer"));
  await accessible(page, "server gone");
  server = await serve(port);
  await page.locator("#connection").waitFor({ state: "hidden" });
  ok("the page goes on when it is back", true);
  await page.locator("ul.history a", { hasText: "x264_crf44.mp4" }).first().click();
  await page.locator("canvas.look[data-frame]").waitFor();
  ok("results and pictures survive a restart", (await text(page)).includes("VMAF:"));
  ok("nothing went wrong in the page", page.complaints.length === 0, page.complaints.join("; "));
  ok("nothing was loaded from elsewhere", page.elsewhere.length === 0, page.elsewhere.join(" "));
  const run = new URL(page.url()).hash;
  await page.emulateMedia({ media: "print" });
  await shoot(page, "print");
  await page.context().close();

  // 11. Phone, dark.
  page = await open(url, { viewport: { width: 390, height: 844 }, colorScheme: "dark", hasTouch: true, isMobile: true });
  await page.locator("ul.history").waitFor();
  await accessible(page, "phone, dark");
  await page.goto(`http://127.0.0.1:${port}/${run}`);
  await page.locator("canvas.look[data-frame]").waitFor();
  ok("nothing is wider than a phone", await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), await page.evaluate(() => String(document.documentElement.scrollWidth)));
  await accessible(page, "result on a phone, dark");
  await shoot(page, "phone");
  await page.context().close();

  // 12. A wrong token, a foreign file, a foreign page.
  page = await open(`http://127.0.0.1:${port}/#token=wrong`);
  await page.getByText("A token is needed").waitFor();
  ok("a wrong token is refused in words", (await text(page)).includes("does not accept"));
  await accessible(page, "wrong token");
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByLabel("source.mp4 is the reference", { exact: true }).waitFor();
  ok("the right token opens the page", true);
  const status = (path, options) => page.evaluate(async ([path, options]) => (await fetch(path, options)).status, [path, options ?? {}]);
  const bearer = { headers: { Authorization: `Bearer ${token}` } };
  ok("the API needs the token", (await status("/v1/files")) === 401 && (await status("/v1/history")) === 401);
  ok("files outside the folders cannot be listed", (await status("/v1/files?path=/etc", bearer)) === 400 && (await status(`/v1/files?path=${encodeURIComponent(clips + "/../..")}`, bearer)) === 400);
  const policy = await page.evaluate(async () => (await fetch("/")).headers.get("content-security-policy"));
  ok("the policy allows no inline script", policy.includes("script-src 'self'") && !policy.includes("unsafe"));
  const blocked = await page.evaluate(() => new Promise((done) => {
    document.addEventListener("securitypolicyviolation", () => done(true), { once: true });
    const script = document.createElement("script");
    script.textContent = "globalThis.inline = 1";
    document.body.append(script);
    setTimeout(() => done(false), 1000);
  }));
  ok("an inline script does not run", blocked && !(await page.evaluate(() => globalThis.inline)));
  await page.locator("summary", { hasText: "path" }).click();
  await page.getByLabel("Path of a file on the server").fill("/etc/passwd");
  await page.getByRole("button", { name: "Add as encode" }).click();
  await begin(page);
  await page.locator("main").getByText("not under an allowlisted root").waitFor();
  ok("a file outside the folders is refused, with advice", (await text(page)).includes("visus ui FOLDER"));
  await page.context().close();
  await stop(server.child);
} catch (error) {
  failures += 1;
  console.log(`FAILED: ${error.stack ?? error}`);
  if (pictures) for (const context of browser.contexts()) for (const page of context.pages()) await page.screenshot({ path: join(pictures, "failure.png") }).catch(() => {});
} finally {
  await browser.close();
  for (const child of children) if (child.exitCode === null) child.kill("SIGKILL");
  rmSync(home, { recursive: true, force: true });
}
console.log(failures ? `${failures} FAILED` : "ok: the end");
process.exit(failures ? 1 : 0);
