// A film of two hours, and the page on a phone and on paper.
import { FILM, FILM_FRAMES, FILM_WORST } from "./clips.mjs";
import { text } from "./forms.mjs";
import { ok } from "./harness.mjs";

/** The longest that a frame may keep the browser busy, in milliseconds of its processor time. */
const FLUID = 50;

/** A curve of 172,800 frames is panned with the pointer. */
export async function film(test, page) {
  await page.goto(`${test.origin}/#/run/${FILM}`);
  await page.waitForFunction((frames) => globalThis.visus.view()?.scores?.length === frames, FILM_FRAMES);
  await page.waitForFunction(() => globalThis.visus.view().chart.draws > 0);
  ok("the worst frame of a long film is found", (await page.evaluate(() => globalThis.visus.view().worst[0])) === FILM_WORST);
  await page.evaluate(() => scrollTo(0, 0));
  await test.browser.shoot(page, "film");
  await page.evaluate(() => globalThis.visus.view().chart.zoom(0.25, 80_000));
  const from = await page.evaluate(() => globalThis.visus.view().chart.view.from);
  const busy = await busiest(page, () => drag(page));
  const panned = await page.evaluate(() => { const { chart, scores } = globalThis.visus.view(); return { from: chart.view.from, touched: scores.touched, width: chart.width() }; });
  ok("the curve follows the pointer", panned.from !== from, `${from} ${panned.from}`);
  ok("a drawing looks at a few numbers per pixel", panned.touched < 40 * panned.width, `${panned.touched} for ${panned.width} pixels`);
  ok("no frame takes the browser more than 50 ms while panning", busy.tasks > 30 && busy.longest < FLUID, JSON.stringify(busy));
  console.log(`172,800 frames: ${panned.touched} numbers for ${Math.round(panned.width)} pixels; the longest of ${busy.tasks} tasks took ${busy.longest.toFixed(1)} ms of processor time`);
}

/** Moves the curve to and fro. */
async function drag(page) {
  const box = await page.locator("canvas.chart").boundingBox();
  const [middle, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(middle, y);
  await page.mouse.down();
  for (const x of [-300, 300, -300, 150]) await page.mouse.move(middle + x, y, { steps: 20 });
  await page.mouse.up();
}

/** The longest task of the page's main thread while something is done, in processor time: other programs do not count. */
async function busiest(page, run) {
  const session = await page.context().newCDPSession(page);
  const events = [];
  session.on("Tracing.dataCollected", ({ value }) => events.push(...value));
  const complete = new Promise((done) => session.once("Tracing.tracingComplete", done));
  await session.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories: ["toplevel", "disabled-by-default-devtools.timeline", "devtools.timeline"] } });
  await run();
  await session.send("Tracing.end");
  await complete;
  await session.detach();
  const main = events.filter((event) => event.name === "thread_name" && event.args.name === "CrRendererMain").map((event) => `${event.pid}.${event.tid}`);
  const tasks = events.filter((event) => event.ph === "X" && /RunTask$/.test(event.name) && main.includes(`${event.pid}.${event.tid}`) && event.tdur !== undefined);
  return { tasks: tasks.length, longest: Math.max(0, ...tasks.map((event) => event.tdur / 1000)) };
}

/** On paper: the result without what can only be pressed. */
export async function print(test, page) {
  await page.emulateMedia({ media: "print" });
  ok("buttons are not printed", !(await page.getByRole("button", { name: "Save as page" }).isVisible()) && !(await page.locator("header").isVisible()));
  ok("score, curve and picture are printed", (await page.locator(".tile.score").isVisible()) && (await page.locator("canvas.chart").isVisible()) && (await page.locator("canvas.look").isVisible()));
  ok("the browser makes pages of it", (await page.pdf()).length > 10_000);
  await test.browser.shoot(page, "print", { fullPage: true });
  await page.emulateMedia({ media: "screen" });
}

/** A phone in dark mode. */
export async function phone(test, run) {
  const page = await test.browser.open(`${test.origin}/#token=${test.token}`, { viewport: { width: 390, height: 844 }, colorScheme: "dark", hasTouch: true, isMobile: true });
  await page.locator("ul.history").waitFor();
  await test.browser.accessible(page, "phone, dark");
  await page.goto(`${test.origin}/${run}`);
  await page.locator("canvas.look[data-frame]").waitFor();
  ok("nothing is wider than a phone", await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), await page.evaluate(() => String(document.documentElement.scrollWidth)));
  await test.browser.accessible(page, "result on a phone, dark");
  await test.browser.shoot(page, "phone");
  ok("the score is shown on a phone", (await text(page)).includes("VMAF:"));
  await page.context().close();
}
