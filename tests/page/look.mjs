// Looking at frames, and saving what was found.
import { readFileSync } from "node:fs";

import { score, text } from "./forms.mjs";
import { ok } from "./harness.mjs";

/** What the canvas shows now. */
const shown = (page) => page.evaluate(() => document.querySelector("canvas.look").toDataURL());
const frame = (page) => page.locator("canvas.look").getAttribute("data-frame");
const press = (page, key) => page.locator("canvas.look").press(key);

/** Every way of looking, by keys and by pointer. The address of the score is returned. */
export async function lookAtFrames(test, page) {
  await score(test, page, "source.mp4", "x264_crf44.mp4");
  const worst = await frame(page);
  const lowest = await page.evaluate(() => { const { scores, worst } = globalThis.visus.view(); return [scores.at(worst[0]), Math.min(...scores.scores.data.subarray(0, scores.length))]; });
  ok("the worst frame is shown first", lowest[0] === lowest[1], JSON.stringify(lowest));
  await press(page, "n");
  await anotherFrame(page, worst);
  ok("N goes to the next worst frame", (await frame(page)) !== worst);
  await press(page, "p");
  await page.waitForFunction((old) => document.querySelector("canvas.look").dataset.frame === old, worst);
  ok("P goes back", true);
  await modes(test, page);
  await byCurve(page);
  await page.getByRole("button", { name: "Next worst frame" }).click();
  await page.waitForFunction(() => globalThis.visus.view().worst.includes(Number(document.querySelector("canvas.look").dataset.frame)));
  await page.evaluate(() => scrollTo(0, 0));
  await test.browser.shoot(page, "result");
  await page.evaluate(() => document.getElementById("look-title").scrollIntoView({ block: "center" }));
  await test.browser.shoot(page, "look");
  await test.browser.accessible(page, "result");
  await page.emulateMedia({ colorScheme: "dark" });
  await test.browser.accessible(page, "result, dark");
  await page.emulateMedia({ colorScheme: "light" });
  return new URL(page.url()).hash;
}

async function modes(test, page) {
  const seen = new Set();
  for (const key of ["1", "2", "4", "5"]) {
    await press(page, key);
    seen.add(await shown(page));
    const name = { 2: "wipe", 4: "difference", 5: "blocks" }[key];
    await page.evaluate(() => document.getElementById("look-title").scrollIntoView());
    if (name) await test.browser.shoot(page, name);
  }
  ok("every way of looking shows another picture", seen.size === 4, String(seen.size));
  await press(page, "3");
  await page.evaluate(async () => {
    const canvas = document.querySelector("canvas.look");
    const seen = new Set();
    while (seen.size < 2) {
      seen.add(canvas.toDataURL());
      await new Promise((done) => setTimeout(done, 50));
    }
  });
  ok("flicker shows both pictures in turn", true);
  await press(page, "2");
  const half = await shown(page);
  await page.getByLabel("Reference to the left of").fill("20");
  ok("the wipe is moved by its slider", half !== (await shown(page)));
  const box = await page.locator("canvas.look").boundingBox();
  await page.mouse.move(box.x + box.width * 0.2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.7, box.y + box.height / 2, { steps: 4 });
  await page.mouse.up();
  ok("the wipe is moved by the pointer", (await page.getByLabel("Reference to the left of").inputValue()) === "70", await page.getByLabel("Reference to the left of").inputValue());
  await press(page, "4");
  const weak = await shown(page);
  await page.getByLabel("Amplification").fill("5");
  ok("the difference is amplified", weak !== (await shown(page)));
  await press(page, "1");
}

/** Waits until a frame is shown, and not as a preview, that is not this one. */
const anotherFrame = (page, old) => page.waitForFunction((old) => (document.querySelector("canvas.look").dataset.frame ?? old) !== old, old);

/** While the frame itself is decoded, a small picture of it is shown. */
async function previewed(page, chart, box) {
  let release = () => {};
  const held = new Promise((done) => { release = done; });
  const whole = (url) => /\/frames\/\d+\/(reference|distorted)$/.test(url.pathname) && !url.search;
  await page.route(whole, async (route) => {
    await held;
    await route.continue();
  });
  const before = await shown(page);
  await chart.click({ position: { x: box.width * 0.62, y: box.height / 2 } });
  const seen = await page.locator("canvas.look[data-preview]").waitFor({ timeout: 60_000 }).then(() => true, () => false);
  ok("a preview is shown until the frame is decoded", seen && (await page.locator(".caption").first().innerText()).includes("preview") && before !== (await shown(page)));
  release();
  await page.locator("canvas.look[data-frame]").waitFor();
  await page.unroute(whole);
  ok("then the frame takes its place", !(await page.locator(".caption").first().innerText()).includes("preview"));
}

async function byCurve(page) {
  const chart = page.locator("canvas.chart");
  await chart.scrollIntoViewIfNeeded();
  const box = await chart.boundingBox();
  const looked = await frame(page);
  await chart.click({ position: { x: box.width * 0.31, y: box.height / 2 } });
  await anotherFrame(page, looked);
  const picked = Number(await frame(page));
  ok("a click on the curve shows that frame", picked > 20 && picked < 40, String(picked));
  await previewed(page, chart, box);
  await chart.focus();
  await page.keyboard.press("End");
  await page.waitForFunction(() => document.querySelector("canvas.look").dataset.frame === "99");
  ok("the curve is worked by keys", (await chart.getAttribute("aria-valuetext")).startsWith("frame 99"));
  await chart.press("Home");
  await page.waitForFunction(() => document.querySelector("canvas.look").dataset.frame === "0");
}

/** The share of samples that may differ between two panes of the same picture: its edges fall between pixels. */
const ALIKE = 0.01;

/** With the same video on both sides, both panes must always be the same picture. */
export async function synchronousPanes(test, page) {
  await score(test, page, "source.mp4", "copy.mp4");
  ok("identical videos are called that", /identical/i.test(await text(page)), await text(page));
  const differing = () => page.evaluate(() => {
    const canvas = document.querySelector("canvas.look");
    const [half, top] = [Math.floor(canvas.width / 2), 40];
    const context = canvas.getContext("2d");
    const [a, b] = [0, canvas.width - half].map((x) => context.getImageData(x, top, half, canvas.height - top).data);
    let differing = 0;
    for (let i = 0; i < a.length; i += 1) if (Math.abs(a[i] - b[i]) > 2) differing += 1;
    return differing / a.length;
  });
  const fit = await shown(page);
  ok("both panes show the same", (await differing()) < ALIKE, String(await differing()));
  await press(page, "+");
  await press(page, "+");
  const zoomed = await shown(page);
  ok("zooming changes the picture, and both panes alike", zoomed !== fit && (await differing()) < ALIKE, String(await differing()));
  const box = await page.locator("canvas.look").boundingBox();
  await page.mouse.move(box.x + box.width / 4, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 4 + 60, box.y + box.height / 2 + 40, { steps: 4 });
  await page.mouse.up();
  ok("panning moves both panes alike", zoomed !== (await shown(page)) && (await differing()) < ALIKE, String(await differing()));
  await press(page, "f");
  ok("F fits the picture again", fit === (await shown(page)));
}

/** A fault that VMAF does not see is named, and leads to its frames. */
export async function faults(test, page) {
  await score(test, page, "source.mp4", "tinted.mp4");
  const card = page.locator("section", { hasText: "Faults that were found" });
  await card.waitFor();
  ok("a tinted encode is called that", /hue|colour/i.test(await card.innerText()), await card.innerText());
  await page.locator("canvas.chart").focus();
  await page.keyboard.press("End");
  await page.waitForFunction(() => document.querySelector("canvas.look").dataset.frame === "99");
  await card.getByRole("button", { name: /Look at/ }).first().click();
  await page.waitForFunction(() => document.querySelector("canvas.look").dataset.frame !== "99");
  ok("a fault leads to its first frame", true);
  await test.browser.accessible(page, "faults");
  await test.browser.shoot(page, "faults");
}

/** The files that a score is saved as. */
export async function exports(test, page) {
  const saved = async (name) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name }).click()]);
    return readFileSync(await download.path());
  };
  ok("the one-file page is saved", (await saved("Save as page")).toString().startsWith("<!doctype html>"));
  ok("the scores are saved as CSV", (await saved("Save as CSV")).toString().split("\n").length === 102);
  ok("the curve is saved as PNG", (await saved("Save curve as PNG")).subarray(1, 4).toString() === "PNG");
  ok("the report is saved as JSON", JSON.parse(await saved("Save as JSON")).frames.length === 100);
}

/** How soon a picture of 1080p is there. */
export async function howSoon(test, page) {
  const answer = await page.evaluate(async ({ clips, token }) => {
    const headers = { Authorization: `Bearer ${token}` };
    const made = await (await fetch("/v1/jobs", { method: "POST", headers, body: JSON.stringify({ reference: `${clips}/hd_source.mp4`, distorted: `${clips}/hd_encode.mp4`, model: "vmaf_v0.6.1" }) })).json();
    for (;;) {
      const { entry } = await (await fetch(`/v1/history/${made.job_id}`, { headers })).json();
      if (entry.status === "done") break;
      if (entry.status === "failed") return { failed: entry.error };
      await new Promise((done) => setTimeout(done, 100));
    }
    const times = [];
    for (const frame of [0, 49, 30, 31]) {
      const begun = performance.now();
      const response = await fetch(`/v1/history/${made.job_id}/frames/${frame}/distorted`, { headers });
      const bitmap = await createImageBitmap(await response.blob());
      times.push([frame, Math.round(performance.now() - begun), bitmap.width]);
    }
    const previews = [];
    for (const frame of [40, 41, 20]) {
      const begun = performance.now();
      const response = await fetch(`/v1/history/${made.job_id}/frames/${frame}/reference?preview=true`, { headers });
      const { width } = await createImageBitmap(await response.blob());
      previews.push([frame, Math.round(performance.now() - begun), width, Number(response.headers.get("X-Visus-Frames-Off"))]);
    }
    return { times, previews };
  }, { clips: test.clips, token: test.token });
  ok("previews are there at once", answer.previews?.every(([, , width, off]) => width === 480 && Math.abs(off) <= 2), JSON.stringify(answer.previews));
  console.log(`previews (frame, ms): ${JSON.stringify(answer.previews?.map(([frame, ms]) => [frame, ms]))}`);
  ok("pictures of 1080p arrive", answer.times?.every(([, , width]) => width === 1920), JSON.stringify(answer));
  console.log(`pictures of 1080p (frame, ms): ${JSON.stringify(answer.times?.map(([frame, ms]) => [frame, ms]))}`);
}
