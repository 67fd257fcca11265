// Several encodes of one reference; searches and ladders while they run.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { begin, choose, home } from "./forms.mjs";
import { ok } from "./harness.mjs";

const X264 = ["x264_crf28.mp4", "x264_crf36.mp4", "x264_crf44.mp4"];
const MPEG4 = ["mpeg4_q6.mp4", "mpeg4_q14.mp4"];

/** Five encodes by two encoders: curves, significance, rates, BD-rate, files. */
export async function compareEncodes(test, page) {
  await home(test, page);
  await choose(page, "source.mp4", [...X264, ...MPEG4]);
  await begin(page);
  await page.locator("svg.rate").waitFor();
  await page.getByText(/: (worse|better|may be chance)/).first().waitFor();
  const table = await page.locator("main table").innerText();
  ok("five encodes are compared", [...X264, ...MPEG4].every((name) => table.includes(name)), table);
  ok("worse encodes are called worse", (table.match(/: worse/g) ?? []).length >= 2, table);
  ok("encodes have points on the axis of rates", (await page.locator("svg.rate circle").count()) === 5);
  ok("curves of five encodes lie over each other", (await page.evaluate(() => globalThis.visus.view().chart.series.filter((one) => one.scores.length === 100).length)) === 5);
  const rate = /[+−]\d+\.\d %/;
  ok("BD-rate between two encoders", rate.test(table), table);
  await page.evaluate(() => scrollTo(0, 0));
  await test.browser.shoot(page, "compare", { fullPage: true });
  await test.browser.accessible(page, "compare");
  const saved = async (name) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name }).click()]);
    return readFileSync(await download.path());
  };
  const csv = (await saved("Save table as CSV")).toString();
  ok("the comparison is saved as CSV", csv.split("\n").length === 7 && rate.test(csv), csv);
  ok("the curves are saved as PNG", (await saved("Save curves as PNG")).subarray(1, 4).toString() === "PNG");
  await page.locator("canvas.look[data-frame]").waitFor();
  await page.getByRole("button", { name: "mpeg4_q14.mp4", exact: true }).click();
  await page.waitForFunction(() => globalThis.visus.view().chosen === 4 && document.querySelector("canvas.look[data-frame]"));
  ok("a click on an encode shows its frames", true);
}

/** Counts points whenever the page changes, so that it is known whether they came while the job ran. */
async function watchPoints(page) {
  await page.evaluate(() => {
    globalThis.pointsBeforeTheEnd = 0;
    const count = () => {
      if (document.querySelector("main table")) return;
      globalThis.pointsBeforeTheEnd = Math.max(globalThis.pointsBeforeTheEnd, document.querySelectorAll("svg.rate circle").length);
    };
    new MutationObserver(count).observe(document.getElementById("main"), { childList: true, subtree: true });
  });
}

/** A search and a ladder, live. */
export async function searchAndLadder(test, page) {
  const tune = async (tool, fields) => {
    await page.goto(`${test.origin}/#/tune`);
    await page.getByLabel("Source, as a path").fill(join(test.clips, "short.mp4"));
    await page.getByLabel("What to do").selectOption(tool);
    for (const [label, value] of fields) await page.getByLabel(label, { exact: true }).fill(value);
    await watchPoints(page);
    await page.getByRole("button", { name: "Start" }).click();
    await page.locator("main table").waitFor();
    return { table: await page.locator("main table").innerText(), before: await page.evaluate(() => globalThis.pointsBeforeTheEnd) };
  };
  await page.goto(`${test.origin}/#/tune`);
  await page.getByLabel("Source, as a path").waitFor();
  await test.browser.accessible(page, "tune");
  const search = await tune("run_compare", [["Encoders", "libx264"], ["Targets", "70"]]);
  ok("a search ends in a table", search.table.includes("libx264"), search.table);
  ok("a search is shown while it runs", search.before > 0, String(search.before));
  await test.browser.shoot(page, "tune");
  await test.browser.accessible(page, "search");
  const ladder = await tune("run_ladder", [["Encoder", "libx264"], ["Sizes", "320x180,160x90"], ["Targets", "80,60"]]);
  ok("a ladder ends in a table of renditions", /320×180|160×90/.test(ladder.table), ladder.table);
  ok("a ladder is shown while it runs", ladder.before > 0, String(ladder.before));
  await test.browser.shoot(page, "ladder");
}
