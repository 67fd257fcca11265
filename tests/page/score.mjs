// Choosing files, starting, watching, cancelling.
import { join } from "node:path";

import { HOSTILE_SHOWN } from "./clips.mjs";
import { begin, beginLong, choose, grown, home, text } from "./forms.mjs";
import { ok, stop } from "./harness.mjs";

/** A newcomer with two files presses one button. */
export async function newcomer({ browser, servers, clips }) {
  const server = await servers.start(["ui", "--no-open", join(clips, "two")], {}, "stdout");
  const begun = Date.now();
  const page = await browser.open(server.url);
  await page.locator("dd", { hasText: "holiday.mp4" }).waitFor();
  ok("the token is gone from the address", !page.url().includes("token"));
  ok("two files are an original and its encode", /Reference\s*holiday\.mp4\s*Encode\s*holiday_small\.mp4/.test(await text(page)), await text(page));
  await begin(page);
  await page.locator("canvas.look[data-frame]").waitFor();
  console.log(`two files: score, curve and worst frame after ${Date.now() - begun} ms`);
  ok("the score is explained", /VMAF: (Bad|Poor|Fair|Good)/.test(await text(page)), await text(page));
  ok("the pair is called comparable", (await text(page)).includes("can be compared"));
  ok("the model is named with what it is for", /Model \S+\. It is/.test(await text(page)), await text(page));
  await stop(server.child);
  ok("nothing goes wrong for a newcomer", page.complaints.length === 0, page.complaints.join("; "));
  await page.context().close();
}

/** A hostile name, by keyboard alone. */
export async function hostileName({ browser }, page) {
  await page.getByLabel("source.mp4 is the reference", { exact: true }).waitFor();
  ok("the history of the last server is there", (await page.locator("ul.history").innerText()).includes("holiday_small.mp4"));
  ok("what looks like a reference is chosen", (await page.locator("td input[type=radio]:checked").count()) === 1);
  await browser.accessible(page, "start");
  await browser.shoot(page, "start");
  await choose(page, "source.mp4", [HOSTILE_SHOWN]);
  await page.locator("button[type=submit]", { hasText: "Score" }).focus();
  await page.keyboard.press("Enter");
  await page.locator("canvas.look[data-frame]").waitFor();
  ok("a name cannot turn the text around", !(await text(page)).includes("\u202e"));
  ok("a hostile name is text", (await page.locator("h1").innerText()).includes(HOSTILE_SHOWN) && !(await page.evaluate(() => globalThis.hacked)));
  await page.goBack();
}

/** Paths that are dropped on the page, as text and as addresses of files. */
export async function droppedPaths(test, page) {
  await home(test, page);
  await page.reload();
  await page.getByLabel("source.mp4 is the reference", { exact: true }).waitFor();
  await choose(page, "source.mp4", []);
  const drop = (type, data) => page.evaluate(([type, data]) => {
    const carried = new DataTransfer();
    if (type) carried.setData(type, data);
    document.querySelector("form.card").dispatchEvent(new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true }));
  }, [type, data]);
  await drop("text/plain", `${join(test.clips, "x264_crf28.mp4")}\n${join(test.clips, "x264_crf36.mp4")}\n`);
  await drop("text/uri-list", `# a comment\r\nfile://${join(test.clips, "mpeg4_q6.mp4")}\r\n`);
  const chosen = await page.locator(".chosen").innerText();
  ok("dropped paths are chosen", ["source.mp4", "x264_crf28.mp4", "x264_crf36.mp4", "mpeg4_q6.mp4"].every((name) => chosen.includes(name)), chosen);
  ok("many encodes are one button", (await page.locator("button[type=submit]").innerText()) === "Score 3 encodes");
  await drop("", "");
  ok("a dropped file without a path is explained", (await text(page)).includes("Browsers do not say where a dropped file is"));
}

/** A long job: the curve grows, survives a reload, is cancelled. */
export async function longJob(test, page) {
  await beginLong(test, page);
  await grown(page, 1);
  await test.browser.shoot(page, "running");
  await test.browser.accessible(page, "running");
  const before = await page.evaluate(() => globalThis.visus.view().scores.length);
  await page.reload();
  await grown(page, before + 1);
  ok("the curve goes on after a reload", true);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("It was cancelled").waitFor();
  ok("a job can be cancelled", true);
  await test.browser.accessible(page, "cancelled");
  await page.getByRole("button", { name: "Start again" }).click();
  await page.getByRole("button", { name: "Cancel" }).waitFor();
  await grown(page, 1);
  ok("a cancelled job can be started again", true);
}

/** With one slot, the next job waits; it can be cancelled before its turn. */
export async function queue(test, page) {
  const first = page.url();
  await home(test, page);
  await choose(page, "source.mp4", ["x264_crf36.mp4"]);
  await begin(page);
  await page.getByText("Waiting for its turn").waitFor();
  await home(test, page);
  const states = await page.locator("ul.history .state").allInnerTexts();
  ok("the history shows what waits and what runs", states[0] === "queued" && states[1] === "running", states.slice(0, 3).join());
  await page.locator("ul.history a").first().click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("It was cancelled").waitFor();
  ok("a job can be cancelled before its turn", true);
  await page.goto(first);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("It was cancelled").waitFor();
}

/** Two videos that are not of the same film. */
export async function notComparable(test, page) {
  await home(test, page);
  await choose(page, "source.mp4", ["other_film.mp4"]);
  await begin(page);
  await page.locator("main .message p").first().waitFor();
  const words = await text(page);
  ok("a pair that cannot be compared is refused, with the reason and a remedy", (await page.locator("main .message .hint").count()) === 1, words);
  ok("people are not told how programs go on", !words.includes("force="), words);
  await test.browser.accessible(page, "not comparable");
  await test.browser.shoot(page, "not-comparable");
  await page.getByRole("button", { name: "Score all the same" }).click();
  await page.locator(".trust.no").waitFor();
  ok("it can be scored all the same, and the score is called meaningless", (await text(page)).includes("The score means little"));
}
