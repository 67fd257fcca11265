// The page's forms, as a user works them.

export const text = (page) => page.locator("main").innerText();

/** The start page, with its list of files. */
export async function home(test, page) {
  await page.goto(`${test.origin}/#/`);
  await page.getByLabel("source.mp4 is the reference", { exact: true }).waitFor();
}

/** Presses Score. */
export const begin = (page) => page.locator("button[type=submit]", { hasText: "Score" }).click();

/** Chooses files in the list. */
export async function choose(page, reference, encodes) {
  await page.getByLabel(`${reference} is the reference`, { exact: true }).check();
  // What was chosen by itself is taken back.
  for (const box of await page.locator("td input[type=checkbox]").all()) await box.setChecked(false);
  for (const encode of encodes) await page.getByLabel(`Score ${encode}`, { exact: true }).check();
}

/** Scores a pair and waits for the worst frame. */
export async function score(test, page, reference, encode) {
  await home(test, page);
  await choose(page, reference, [encode]);
  await begin(page);
  await page.locator("canvas.look[data-frame]").waitFor();
}

/** Starts the long job, without the pairing that would read all of it first. */
export async function beginLong(test, page) {
  await home(test, page);
  await choose(page, "long_source.mp4", ["long_encode.mp4"]);
  await page.locator("summary", { hasText: "More options" }).click();
  await page.getByLabel("Pairing of frames").selectOption("off");
  await begin(page);
  await page.getByRole("button", { name: "Cancel" }).waitFor();
}

/** Waits until so many frames have a score on the page. */
export const grown = (page, count) => page.waitForFunction((count) => (globalThis.visus.view()?.scores?.length ?? 0) >= count, count);
