// A server that goes and comes back; tokens, foreign files and foreign scripts.
import { beginLong, begin, grown, home, text } from "./forms.mjs";
import { ok, stop } from "./harness.mjs";

/** The server crashes while a job runs, and is started again on the same port. */
export async function restart(test, page) {
  await beginLong(test, page);
  await grown(page, 1);
  await stop(test.server.child, "SIGKILL");
  await page.locator("#connection:visible").waitFor();
  ok("a server that is gone is noticed", (await page.locator("#connection").innerText()).includes("does not answer"));
  await test.browser.accessible(page, "server gone");
  test.server = await test.serve(test.server.port);
  await page.locator("#connection").waitFor({ state: "hidden" });
  await page.getByText("The server ended before it was done").waitFor();
  ok("what ran when the server crashed is called interrupted", await page.getByRole("button", { name: "Start again" }).isVisible());
  await home(test, page);
  const history = await page.locator("ul.history").innerText();
  ok("the history survives a crash", history.includes("interrupted") && history.includes("x264_crf44.mp4"), history);
  await page.locator("ul.history a", { hasText: "x264_crf44.mp4" }).first().click();
  await page.locator("canvas.look[data-frame]").waitFor();
  ok("results and pictures survive a restart", (await text(page)).includes("VMAF:"));
}

/** A wrong token, a file outside the folders, an inline script. */
export async function wrongToken(test) {
  const page = await test.browser.open(`${test.origin}/#token=wrong`);
  await page.getByText("A token is needed").waitFor();
  ok("a wrong token is refused in words", (await text(page)).includes("does not accept"));
  await test.browser.accessible(page, "wrong token");
  await page.getByLabel("Token", { exact: true }).fill(test.token);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByLabel("source.mp4 is the reference", { exact: true }).waitFor();
  ok("the right token opens the page", true);
  const status = (path, options) => page.evaluate(async ([path, options]) => (await fetch(path, options)).status, [path, options ?? {}]);
  const bearer = { headers: { Authorization: `Bearer ${test.token}` } };
  ok("the API needs the token", (await status("/v1/files")) === 401 && (await status("/v1/history")) === 401);
  ok("files outside the folders cannot be listed", (await status("/v1/files?path=/etc", bearer)) === 400 && (await status(`/v1/files?path=${encodeURIComponent(test.clips + "/../..")}`, bearer)) === 400);
  await policy(page);
  await page.locator("summary", { hasText: "path" }).click();
  await page.getByLabel("Path of a file on the server").fill("/etc/passwd");
  await page.getByRole("button", { name: "Add as encode" }).click();
  await begin(page);
  await page.locator("main").getByText("not under an allowlisted root").waitFor();
  ok("a file outside the folders is refused, with advice", (await text(page)).includes("visus ui FOLDER"));
  await page.context().close();
}

async function policy(page) {
  const policy = await page.evaluate(async () => (await fetch("/")).headers.get("content-security-policy"));
  ok("the policy allows no inline script", policy.includes("script-src 'self'") && !policy.includes("unsafe"));
  const blocked = await page.evaluate(() => new Promise((done) => {
    document.addEventListener("securitypolicyviolation", () => done(true), { once: true });
    const script = document.createElement("script");
    script.textContent = "globalThis.inline = 1";
    document.body.append(script);
  }));
  ok("an inline script does not run", blocked && !(await page.evaluate(() => globalThis.inline)));
}
