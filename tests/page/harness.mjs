// What the tests of the page share: checks, servers, the browser.
//
// Nothing here fails because a machine is slow: waits are long, times are printed, and what is compared is work.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

/** How long something may take to appear, in milliseconds; a machine may be busy with other things. */
export const PATIENCE = 300_000;

let failures = 0;
export function ok(what, held, detail = "") {
  console.log(`${held ? "ok" : "FAILED"}: ${what}${held ? "" : ` ${detail}`}`);
  if (!held) failures += 1;
}

/** Says how it went, and ends the process. */
export function conclude() {
  console.log(failures ? `${failures} FAILED` : "ok: the end");
  process.exit(failures ? 1 : 0);
}

/** Playwright and axe-core, from the folder that `cargo xtask peers` fills. */
export class Browser {
  static async launch(peers, pictures) {
    const require = createRequire(join(peers, "package.json"));
    const program = process.env.VISUS_CHROMIUM ?? "/usr/bin/chromium";
    if (!existsSync(program)) throw new Error(`${program} is missing: install Chromium (Debian: apt-get install chromium), or name it in VISUS_CHROMIUM`);
    const browser = new Browser();
    browser.axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
    browser.pictures = pictures;
    if (pictures) mkdirSync(pictures, { recursive: true });
    browser.chromium = await require("playwright-core").chromium.launch({
      executablePath: program,
      args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
    });
    return browser;
  }

  /** A tab of its own, which remembers what went wrong in it and what it asked other servers for. */
  async open(url, options = {}) {
    const context = await this.chromium.newContext({ viewport: { width: 1200, height: 900 }, acceptDownloads: true, ...options });
    await replaceFiles(context);
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
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

  async accessible(page, what) {
    // The policy of the page lets no script in; the browser's own tools may bring one.
    await page.evaluate(this.axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    ok(`axe-core finds nothing: ${what}`, violations.length === 0, JSON.stringify(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html.slice(0, 200))])));
  }

  async shoot(page, name, options = {}) {
    if (this.pictures) await page.screenshot({ path: join(this.pictures, `${name}.png`), ...options });
  }

  async failed() {
    for (const context of this.chromium.contexts()) for (const page of context.pages()) await this.shoot(page, "failure").catch(() => {});
  }

  close() {
    return this.chromium.close();
  }
}

/** `VISUS_WEB` names a folder whose files stand in for those of the program: no build while the page is worked on. */
async function replaceFiles(context) {
  const folder = process.env.VISUS_WEB;
  if (!folder) return;
  const types = { js: "text/javascript", css: "text/css" };
  await context.route("**/ui/*", (route) => {
    const name = new URL(route.request().url()).pathname.split("/").pop();
    return route.fulfill({ body: readFileSync(join(folder, name)), contentType: types[name.split(".").pop()] });
  });
}

/** Servers under test, with folders of their own for state and cache. */
export class Servers {
  constructor(visus, home) {
    this.visus = visus;
    this.environment = { ...process.env, VISUS_STATE_DIR: join(home, "state"), VISUS_CACHE_DIR: join(home, "cache") };
    this.children = [];
  }

  /** Starts one and waits for the address that it prints. */
  start(args, environment, stream) {
    const child = spawn(this.visus, args, { env: { ...this.environment, ...environment }, stdio: ["ignore", "pipe", "pipe"] });
    this.children.push(child);
    child.ended = new Promise((done) => child.once("exit", done));
    const said = { stdout: "", stderr: "" };
    return new Promise((done, fail) => {
      child.once("exit", (code) => fail(new Error(`it ended with ${code}: ${said.stderr}`)));
      for (const name of ["stdout", "stderr"]) {
        child[name].on("data", (data) => {
          said[name] += data;
          const found = /https?:\/\/[^\s",:]+:(\d+)[^\s",:]*/.exec(said[stream]);
          if (found) done({ child, url: found[0], port: Number(found[1]) });
        });
      }
    });
  }

  killAll() {
    for (const child of this.children) if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  }
}

/** Ends a server: by itself, or as a crash does. */
export async function stop(child, signal = "SIGINT") {
  child.kill(signal);
  await child.ended;
}
