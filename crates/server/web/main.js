// @ts-check
// The page: which view is shown, the history, and the state of the connection.
import { announce, byId, fixed, h, put } from "./dom.js";
import { entries, json, onConnection, setToken, takeToken, token } from "./api.js";
import { CompareView } from "./compare.js";
import { meaning } from "./explain.js";
import { Picker } from "./picker.js";
import { RunView, titleOf } from "./run.js";
import { TuneForm, TuneView } from "./tune.js";

/** @typedef {{ element: HTMLElement, open: () => Promise<void>, close: () => void }} View */

takeToken();
const main = byId("main");
/** @type {View | null} */
let current = null;
let refused = false;

/** The start: a form, and what was done before. */
class Home {
  constructor() {
    this.picker = new Picker({ onstart: start });
    this.list = h("div");
    /** @type {Set<string>} */
    this.marked = new Set();
    this.element = h("div", { class: "columns" }, this.picker.element, h("section", { class: "card", "aria-labelledby": "history-title" }, h("h2", { id: "history-title" }, "History"), this.list));
    this.timer = 0;
  }

  async open() {
    await Promise.all([this.picker.open(), this.refresh()]);
    this.timer = setInterval(() => this.refresh().catch(() => {}), 2000);
  }

  close() {
    clearInterval(this.timer);
  }

  async refresh() {
    const all = await entries().catch(() => null);
    // Somebody who is about to press a button there should still find it.
    if (!all || this.list.contains(document.activeElement)) return;
    const compare = h("button", { type: "button", onclick: () => { location.hash = `#/compare/${[...this.marked].join(",")}`; } }, "Compare the marked");
    if (!all.length) return put(this.list, h("p", { class: "hint" }, "Nothing yet. What you score appears here and stays when Visus is restarted."));
    put(this.list, compare, h("ul", { class: "history" }, ...all.slice(0, 100).map((one) => this.line(one))));
  }

  /** @param {import("./api.js").Entry} one */
  line(one) {
    const isScore = one.tool === "vmaf_score";
    const box = h("input", { type: "checkbox", disabled: !isScore || one.status !== "done", "aria-label": `Mark ${titleOf(one)}`, onchange: () => (box.checked ? this.marked.add(one.id) : this.marked.delete(one.id)) });
    box.checked = this.marked.has(one.id);
    const score = one.status === "done" ? (one.score === null ? "done" : `${fixed(one.score)} · ${meaning(one.score).word}`) : one.status;
    const remove = h("button", { type: "button", class: "plain", "aria-label": `Remove ${titleOf(one)} from the history`, onclick: async () => { await json(`/v1/history/${one.id}`, undefined, "DELETE").catch(() => {}); remove.blur(); await this.refresh(); } }, "×");
    return h("li", {}, box, h("a", { href: isScore ? `#/run/${one.id}` : `#/tune/${one.id}` }, titleOf(one)), h("span", { class: `state ${one.status}` }, score), h("time", { datetime: new Date(one.created * 1000).toISOString() }, new Date(one.created * 1000).toLocaleString()), remove);
  }
}

/** @param {Record<string, unknown>[]} requests */
async function start(requests) {
  const ids = [];
  for (const request of requests) ids.push((await json("/v1/jobs", request)).job_id);
  location.hash = ids.length === 1 ? `#/run/${ids[0]}` : `#/compare/${ids.join(",")}`;
}

/** The form for a token that is missing or wrong. */
function askForToken() {
  const input = h("input", { id: "token", type: "password", autocomplete: "off" });
  const form = h("form", { class: "card", "aria-labelledby": "token-title", onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    setToken(input.value.trim());
    refused = false;
    route();
  } },
    h("h1", { id: "token-title" }, "A token is needed"),
    h("p", {}, token() ? "The server does not accept the token of this page. It may have been restarted: open the address that it printed last." : "Open the address that Visus printed, which holds the token, or enter the token."),
    h("label", { for: "token" }, "Token", input),
    h("button", { class: "primary", type: "submit" }, "Continue"),
  );
  put(main, form);
  input.focus();
}

/** Ids of jobs, as they are in an address. @param {string} text */
function ids(text) {
  return text.split(",").filter((id) => /^[0-9a-f]{32}$/.test(id)).slice(0, 12);
}

function route() {
  const [, view, rest] = /^#\/([a-z]*)\/?([0-9a-f,]*)/.exec(location.hash) ?? [];
  const named = ids(rest ?? "");
  current?.close();
  if (view === "run" && named.length) current = new RunView(named[0]);
  else if (view === "compare" && named.length) current = new CompareView(named);
  else if (view === "tune") current = named.length ? new TuneView(named[0]) : new TuneForm();
  else current = new Home();
  put(main, current.element);
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === (view === "tune" ? "#/tune" : "#/")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  current.open().catch((error) => {
    if (!refused) put(main, h("div", { class: "card message", role: "alert" }, error instanceof Error ? error.message : String(error)));
  });
}

let away = false;
onConnection((reachable, status) => {
  const state = byId("connection");
  if (status === 401 && !refused) {
    refused = true;
    current?.close();
    askForToken();
  }
  if (reachable === !away) return;
  away = !reachable;
  state.textContent = away ? "The server does not answer. Trying again…" : "";
  state.hidden = !away;
  if (away) announce("The server does not answer.");
  if (away) retry();
});

/** Asks until the server is there again. */
async function retry() {
  while (away) {
    await new Promise((done) => setTimeout(done, 1000));
    await json("/v1/history").catch(() => {});
  }
}

addEventListener("hashchange", () => {
  if (location.hash.startsWith("#token=")) {
    takeToken();
    refused = false;
  }
  route();
  main.focus({ preventScroll: true });
});
route();

// For tests, and for whoever opens the browser's console.
Object.assign(globalThis, { visus: { view: () => current } });
