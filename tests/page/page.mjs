// The web page in a real browser, from the first click to the last: node page.mjs VISUS PEERS [PICTURES]
//
// VISUS is the program, PEERS the folder with playwright-core and axe-core, PICTURES a folder for screenshots.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { makeClips, writeFilm } from "./clips.mjs";
import { compareEncodes, searchAndLadder } from "./compare.mjs";
import { film, phone, print } from "./film.mjs";
import { restart, wrongToken } from "./guard.mjs";
import { Browser, Servers, conclude, ok, stop } from "./harness.mjs";
import { exports, faults, howSoon, lookAtFrames, synchronousPanes } from "./look.mjs";
import { droppedPaths, hostileName, longJob, newcomer, notComparable, queue } from "./score.mjs";

const [visus, peers, pictures] = process.argv.slice(2);
const home = mkdtempSync(join(tmpdir(), "visus-page-"));
const clips = join(home, "clips");
const servers = new Servers(visus, home);
const token = "a-token-of-the-team-0123456789";

let browser;
/** Runs a part of the tests and says how long it took. */
async function part(run, ...args) {
  const begun = Date.now();
  const result = await run(...args);
  console.log(`-- ${run.name}: ${((Date.now() - begun) / 1000).toFixed(1)} s`);
  return result;
}

try {
  browser = await Browser.launch(peers, pictures);
  await part(makeClips, clips);
  writeFilm(join(home, "state"), clips);
  const test = { browser, servers, clips, token };
  await part(newcomer, test);

  // A team's server with a token of its own, and one job at a time, so that there is a queue.
  const environment = { VMAFX_MCP_HTTP_TOKEN: token, VMAF_MCP_MAX_CONCURRENT: "1" };
  test.serve = (port) => servers.start(["serve", "--ui", "--port", String(port), "--allow", clips], environment, "stderr");
  test.server = await test.serve(0);
  test.origin = `http://127.0.0.1:${test.server.port}`;
  const page = await browser.open(`${test.origin}/#token=${token}`);
  await part(hostileName, test, page);
  await part(droppedPaths, test, page);
  await part(longJob, test, page);
  await part(queue, test, page);
  await part(notComparable, test, page);
  const run = await part(lookAtFrames, test, page);
  await part(exports, test, page);
  await part(print, test, page);
  await part(faults, test, page);
  await part(synchronousPanes, test, page);
  await part(howSoon, test, page);
  await part(compareEncodes, test, page);
  await part(searchAndLadder, test, page);
  await part(film, test, page);
  await part(restart, test, page);
  ok("nothing went wrong in the page", page.complaints.length === 0, page.complaints.join("; "));
  ok("nothing was loaded from elsewhere", page.elsewhere.length === 0, page.elsewhere.join(" "));
  await page.context().close();
  await part(phone, test, run);
  await part(wrongToken, test);
  await stop(test.server.child);
} catch (error) {
  ok("the test goes to its end", false, error.stack ?? error);
  await browser?.failed();
} finally {
  await browser?.close();
  servers.killAll();
  rmSync(home, { recursive: true, force: true });
}
conclude();
