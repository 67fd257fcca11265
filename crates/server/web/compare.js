// @ts-check
// Several encodes of one reference: their curves over each other, what each costs, and whether a difference is real.
import { fixed, h, put } from "./dom.js";
import { curve, entry, follow, json, save } from "./api.js";
import { Chart } from "./chart.js";
import { Viewer } from "./look.js";
import { Pyramid } from "./pyramid.js";
import { groupsOf, rateChart } from "./rate.js";
import { kbpsOf, rateOf, settled, swatch } from "./run.js";

/**
 * @typedef {import("./api.js").Entry} Entry
 * @typedef {{ id: string, entry: Entry | null, summary: any, scores: Pyramid, group: string, progress: string, words: HTMLElement, against: any }} Line
 */

/**
 * Which encodes belong to one curve of rate and quality: those whose names differ in a setting or a rate only.
 * @param {string} name
 */
export function groupOf(name) {
  const stem = name.replace(/\.[^.]*$/, "");
  const bare = stem.replace(/[_\-. ]*(crf|cq|qp|q)[_\-=]?\d+([.,]\d+)?/gi, "").replace(/[_\-. ]*\d+([.,]\d+)?(k|m|kbps|mbps)$/i, "").replace(/[_\-. ]+\d+$/, "");
  return bare || stem;
}

export class CompareView {
  /** @param {string[]} ids */
  constructor(ids) {
    this.stop = new AbortController();
    /** @type {Line[]} */
    this.lines = ids.map((id) => ({ id, entry: null, summary: null, scores: new Pyramid(), group: "", progress: "waiting", words: h("span"), against: null }));
    this.table = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The encodes" });
    this.rates = h("div");
    this.look = h("div");
    this.chart = new Chart({ label: "Scores of all encodes over time. Arrow keys move, plus and minus zoom.", onpick: (frame) => this.viewer?.show(frame) });
    this.chosen = 0;
    /** @type {Viewer | null} */
    this.viewer = null;
    this.title = h("h1", {}, "Compare");
    this.element = h("div", {},
      h("div", { class: "card" }, this.title, this.table, h("div", { class: "row no-print" },
        h("button", { type: "button", onclick: () => this.csv() }, "Save table as CSV"),
        h("button", { type: "button", onclick: async () => { const png = await this.chart.png(this.title.textContent ?? ""); if (png) save(png, "compare.png"); } }, "Save curves as PNG"))),
      h("section", { class: "card", "aria-labelledby": "curves-title" }, h("h2", { id: "curves-title" }, "Scores over time"), this.chart.element),
      this.rates,
      this.look,
    );
  }

  close() {
    this.stop.abort();
    if (this.viewer) clearInterval(this.viewer.timer);
  }

  async open() {
    this.chart.show(this.lines.map((line, colour) => ({ name: line.id, scores: line.scores, colour })));
    await Promise.all(this.lines.map((line) => this.load(line).catch((error) => {
      if (!this.stop.signal.aborted) line.progress = error instanceof Error ? error.message : String(error);
      this.draw();
    })));
    if (this.stop.signal.aborted) return;
    await this.judge();
    this.pick(this.chosen);
  }

  /** @param {Line} line */
  async load(line) {
    let found = await entry(line.id);
    line.entry = found.entry;
    line.group = groupOf(found.entry.inputs[1]?.name ?? line.id);
    this.draw();
    if (found.entry.status === "queued" || found.entry.status === "running") {
      await follow(line.id, (event) => {
        if (event.scores && event.scores.from === line.scores.length) line.scores.append(event.scores.values);
        line.progress = event.status === "queued" ? "waiting" : `${event.progress.done} of ${event.progress.total ?? "?"} frames`;
        // The table stays as it is: what is about to be pressed must not be replaced.
        line.words.textContent = line.progress;
        this.chart.grown(event.progress.total ?? undefined);
      }, this.stop.signal);
      found = await settled(line.id, this.stop.signal);
    }
    line.entry = found.entry;
    line.progress = found.entry.error ?? found.entry.status;
    line.summary = found.result?.summary ?? null;
    if (line.summary) {
      const scores = new Pyramid();
      scores.append(await curve(line.id));
      line.scores = scores;
      this.chart.fps = rateOf(line.summary);
    }
    this.draw();
  }

  /** The curves under their names, and the table. */
  draw() {
    this.chart.show(this.lines.map((line, colour) => ({ name: line.entry?.inputs[1]?.name ?? line.id, scores: line.scores, colour })));
    const reference = this.lines[0]?.entry?.inputs[0]?.name;
    this.title.textContent = reference ? `Encodes of ${reference}` : "Compare";
    const column = (/** @type {string} */ name, number = false) => h("th", { scope: "col", class: number ? "number" : "" }, name);
    put(this.table, h("table", {},
      h("thead", {}, h("tr", {}, column("Encode"), column("Score", true), column("5th percentile", true), column("Lowest", true), column("kbit/s", true), column("Group"), column("BD-rate", true), column("Against the first"))),
      h("tbody", {}, ...this.lines.map((line, index) => this.row(line, index))),
    ));
  }

  /** @param {Line} line @param {number} index */
  row(line, index) {
    const name = line.entry?.inputs[1]?.name ?? line.id;
    const pooled = line.summary?.pooled_metrics?.[line.entry?.metric ?? ""] ?? {};
    const rate = line.entry ? kbpsOf(line.entry, line.summary) : null;
    const group = h("input", { type: "text", class: "small", value: line.group, "aria-label": `Group of ${name}`, onchange: () => { line.group = group.value; this.judge(); } });
    const button = h("button", { type: "button", class: "plain", "aria-pressed": String(index === this.chosen), onclick: () => this.pick(index) }, name);
    const waits = line.entry?.status === "queued" || line.entry?.status === "running";
    const cancel = waits && h("button", { type: "button", class: "plain", "aria-label": `Cancel ${name}`, onclick: () => json(`/v1/jobs/${line.id}`, undefined, "DELETE").catch(() => {}) }, "Cancel");
    const cells = line.summary
      ? [fixed(line.entry?.score), fixed(pooled.p5), fixed(pooled.min), rate ? String(Math.round(rate)) : "–"].map((text) => h("td", { class: "number" }, text))
      : [h("td", { colspan: "4" }, line.words, " ", cancel)];
    line.words.textContent = line.progress;
    return h("tr", {}, h("td", {}, swatch(index), " ", button, " ", h("a", { href: `#/run/${line.id}`, "aria-label": `Details of ${name}` }, "details")), ...cells, h("td", {}, group), h("td", { class: "number" }, line.against?.bd ?? "–"), h("td", {}, line.against?.words ?? (index === 0 ? "–" : "")));
  }

  /** Differences to the first encode, and BD-rates between groups. */
  async judge() {
    const first = this.lines[0];
    const ready = this.lines.filter((line) => line.summary);
    const points = ready.map((line) => ({ group: line.group, name: line.entry?.inputs[1]?.name ?? line.id, kbps: (line.entry && kbpsOf(line.entry, line.summary)) ?? 0, score: line.entry?.score ?? NaN }));
    const usable = points.filter((point) => point.kbps > 0);
    const rates = await groupRates(usable);
    for (const line of ready) {
      const words = line === first || !first.summary ? (line === first ? "–" : "") : await significance(first.id, line.id).catch(() => "");
      line.against = { words, bd: rates.get(line.group) ?? "–" };
    }
    this.draw();
    const drawing = rateChart(usable);
    put(this.rates, drawing ? h("section", { class: "card", "aria-labelledby": "rate-title" }, h("h2", { id: "rate-title" }, "Score over bit rate"), h("p", { class: "hint" }, "Encodes of one group are one curve. BD-rate says how much more bit rate a group needs than the first one for the same score; it takes two encodes of each. Change a group in the table."), drawing) : null);
  }

  /** @param {number} index */
  pick(index) {
    this.chosen = index;
    const line = this.lines[index];
    this.draw();
    if (!line?.summary) return;
    if (this.viewer) clearInterval(this.viewer.timer);
    const frame = this.viewer?.frame;
    const worst = line.scores.worst(8);
    this.chart.marks = [];
    this.viewer = new Viewer({ id: line.id, frames: line.scores.length, fps: rateOf(line.summary), score: (one) => line.scores.at(one), worst: () => worst, onframe: (one) => this.chart.place(one) });
    put(this.look, this.viewer.element);
    this.viewer.show(frame ?? worst[0] ?? 0);
  }

  csv() {
    const quoted = (/** @type {string} */ text) => `"${text.replace(/"/g, '""').replace(/^[=+\-@]/, "'$&")}"`;
    const rows = this.lines.map((line) => {
      const pooled = line.summary?.pooled_metrics?.[line.entry?.metric ?? ""] ?? {};
      return [quoted(line.entry?.inputs[1]?.name ?? line.id), line.entry?.score ?? "", pooled.p5 ?? "", pooled.min ?? "", (line.entry && kbpsOf(line.entry, line.summary)) ?? "", quoted(line.group), quoted(line.against?.bd ?? ""), quoted(line.against?.words ?? "")].join(",");
    });
    save(new Blob([["encode,score,p5,min,kbps,group,bd_rate,against_first", ...rows].join("\n") + "\n"], { type: "text/csv" }), "compare.csv");
  }
}

/** What `diff` says of two entries. @param {string} a @param {string} b */
async function significance(a, b) {
  const model = (await json(`/v1/diff?a=${a}&b=${b}`)).models?.[0];
  if (!model) return "no common score";
  const [low, high] = model.interval ?? [];
  const words = model.real ? (model.change > 0 ? "better" : "worse") : "may be chance";
  return `${model.change >= 0 ? "+" : "−"}${fixed(Math.abs(model.change))} (${fixed(low)} to ${fixed(high)}): ${words}`;
}

/** BD-rate of every group against the first, in words. @param {import("./rate.js").RatePoint[]} points @returns {Promise<Map<string, string>>} */
async function groupRates(points) {
  const groups = groupsOf(points);
  const of = (/** @type {string} */ group) => points.filter((point) => point.group === group).map(({ kbps, score }) => ({ kbps, quality: score }));
  const found = new Map();
  // One group has nothing to be compared with.
  if (groups.length < 2) return found;
  found.set(groups[0], "first");
  for (const group of groups.slice(1)) {
    const answer = await json("/v1/bd-rate", { anchor: of(groups[0]), test: of(group) }).catch(() => null);
    const percent = answer?.bd_rate_percent;
    found.set(group, typeof percent === "number" ? `${percent >= 0 ? "+" : "−"}${fixed(Math.abs(percent), 1)} %` : "–");
  }
  return found;
}
