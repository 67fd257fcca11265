// @ts-check
// One score: the curve while it grows, then what it means, the worst frames, and a look at any of them.
import { announce, duration, fixed, h, moment, put } from "./dom.js";
import { ApiError, curve, download, entry, follow, json, save } from "./api.js";
import { Chart, colourOf } from "./chart.js";
import { meaning, modelWords, remedy, spread } from "./explain.js";
import { Viewer } from "./look.js";
import { Pyramid } from "./pyramid.js";

/** @typedef {import("./api.js").Entry} Entry */

const WORST = 8;

/** What a refusal says to programs; people have a button. */
const FORCED = /\.?\s*Pass force=true to score them all the same\.?/i;

/** A message as a sentence. @param {string} text */
function sentence(text) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

/** Waits until the server has kept the result of a job that is over. @param {string} id @param {AbortSignal} signal */
export async function settled(id, signal) {
  for (;;) {
    const found = await entry(id);
    if (found.entry.status !== "running" && found.entry.status !== "queued") return found;
    await new Promise((done) => setTimeout(done, 150));
    if (signal.aborted) throw new DOMException("aborted", "AbortError");
  }
}

/** @param {any} summary @returns {number | null} */
export function rateOf(summary) {
  const text = summary?.provenance?.reference?.frame_rate ?? summary?.media?.reference?.frame_rate;
  const parts = typeof text === "string" ? text.split("/").map(Number) : [];
  const fps = parts.length === 2 ? parts[0] / parts[1] : parts[0];
  return Number.isFinite(fps) && fps > 0 ? fps : null;
}

/** Kilobits per second of a file, from its size. @param {Entry} one @param {any} summary */
export function kbpsOf(one, summary) {
  const fps = rateOf(summary);
  const seconds = summary?.media?.distorted?.duration ?? (fps && one.frames ? one.frames / fps : null);
  const bytes = one.inputs[1]?.bytes;
  const isEncoded = summary?.media?.distorted?.codec;
  return bytes && seconds && isEncoded ? (8 * bytes) / seconds / 1000 : null;
}

/** What tools other than scores do, before the name of their file. @type {Record<string, string>} */
const WORK = { run_compare: "Encoders for", run_ladder: "Ladder for", run_tune_per_shot: "Settings per shot for", vmaf_per_shot: "Shots of" };

/** @param {Entry} one */
export function titleOf(one) {
  const [first, second] = one.inputs;
  return second ? `${second.name} against ${first.name}` : `${WORK[one.tool] ?? one.tool} ${first?.name ?? ""}`;
}

export class RunView {
  /** @param {string} id */
  constructor(id) {
    this.id = id;
    this.stop = new AbortController();
    this.scores = new Pyramid();
    this.head = h("div", { class: "card" });
    this.facts = h("div");
    this.look = h("div");
    this.chart = new Chart({ label: "Score of every frame. Arrow keys move, plus and minus zoom.", onpick: (frame) => this.viewer?.show(frame) });
    this.chartCard = h("section", { class: "card", "aria-labelledby": "curve-title" }, h("h2", { id: "curve-title" }, "Score over time"), this.hint = h("p", { class: "hint" }, "Click a place to see its frames. Drag to move, turn the wheel to zoom, double-click to see all."), this.chart.element, this.worstList = h("div", { class: "row" }));
    this.element = h("div", {}, this.head, this.facts, this.chartCard, this.look);
    /** @type {Viewer | null} */
    this.viewer = null;
    /** @type {number[]} */
    this.worst = [];
  }

  close() {
    this.stop.abort();
    if (this.viewer) clearInterval(this.viewer.timer);
  }

  async open() {
    try {
      const found = await entry(this.id);
      if (found.entry.status === "queued" || found.entry.status === "running") await this.live(found.entry);
      else await this.done(found.entry, found.result);
    } catch (error) {
      if (!this.stop.signal.aborted) this.failed(error);
    }
  }

  /** @param {Entry} one */
  async live(one) {
    const bar = h("progress", { max: "1", "aria-label": "Progress" });
    const words = h("p", { role: "status" }, "Waiting for its turn…");
    const cancel = h("button", { type: "button", onclick: () => json(`/v1/jobs/${this.id}`, undefined, "DELETE").catch((error) => this.failed(error)) }, "Cancel");
    put(this.head, h("h1", {}, titleOf(one)), bar, words, cancel);
    const later = this.hint.textContent;
    this.hint.textContent = "The curve grows while the job runs. When it is done, a click shows the frames.";
    this.chart.show([{ name: "Score", scores: this.scores, colour: 0 }]);
    try {
      await follow(this.id, (event) => {
        if (event.scores && event.scores.from === this.scores.length) this.scores.append(event.scores.values);
        this.chart.grown(event.progress.total ?? undefined);
        const { done, total, per_second: pace, eta_s: left, message } = event.progress;
        if (total) bar.value = done / total;
        words.textContent = event.status === "queued" ? "Waiting for its turn…" : `${message || "starting"}: frame ${done}${total ? ` of ${total}` : ""}${pace ? `, ${Math.round(pace)} per second` : ""}${left ? `, ${duration(left)} left` : ""}`;
      }, this.stop.signal);
    } catch (error) {
      // A job that a restarted server does not know any more is in the history, as interrupted.
      if (!(error instanceof ApiError && error.status === 404)) throw error;
    }
    this.hint.textContent = later;
    const found = await settled(this.id, this.stop.signal);
    await this.done(found.entry, found.result);
    announce(`${titleOf(one)}: ${found.entry.status}`);
  }

  /** @param {Entry} one @param {any} result */
  async done(one, result) {
    if (one.status !== "done" || !result?.summary) return this.ended(one);
    const summary = result.summary;
    const fps = rateOf(summary);
    this.scores = new Pyramid();
    this.scores.append(await curve(this.id));
    this.worst = this.scores.worst(WORST);
    this.chart.fps = fps;
    this.chart.marks = this.worst;
    this.chart.show([{ name: one.metric ?? "Score", scores: this.scores, colour: 0 }]);
    this.heading(one, summary);
    put(this.facts, this.trust(summary), this.faults(summary, fps));
    put(this.worstList, h("h3", {}, "Worst frames"), ...this.worst.map((frame) => h("button", { type: "button", class: "keep", onclick: () => this.viewer?.show(frame) }, `${moment(frame, fps)} · ${fixed(this.scores.at(frame), 1)}`)));
    this.viewer = new Viewer({ id: this.id, frames: this.scores.length, fps, score: (frame) => this.scores.at(frame), worst: () => this.worst, onframe: (frame) => this.chart.place(frame) });
    put(this.look, this.viewer.element);
    if (this.worst.length) this.viewer.show(this.worst[0]);
  }

  /** @param {Entry} one @param {any} summary */
  heading(one, summary) {
    const pooled = summary.pooled_metrics?.[one.metric ?? ""] ?? {};
    const isVmaf = (one.metric ?? "").startsWith("vmaf");
    const means = meaning(isVmaf ? one.score : null);
    const model = summary.provenance?.models?.[0]?.model;
    /** @param {string} name @param {number | null | undefined} value @param {string} about */
    const tile = (name, value, about) => h("div", { class: "tile" }, h("strong", {}, fixed(value)), h("span", {}, name), h("small", {}, about));
    const name = one.inputs[1]?.name ?? "video";
    put(
      this.head,
      h("h1", {}, titleOf(one)),
      h("div", { class: "tiles" },
        h("div", { class: `tile score ${means.level}` }, h("strong", {}, fixed(one.score)), h("span", {}, isVmaf ? `VMAF: ${means.word}` : one.metric ?? "Score"), h("small", {}, !isVmaf ? "" : summary.warnings?.length ? "By what VMAF measures; the faults below come on top." : means.text)),
        tile("5th percentile", pooled.p5, "19 of 20 frames are better"),
        tile("Lowest", pooled.min, typeof pooled.min_frame === "number" ? `frame ${pooled.min_frame}` : ""),
        tile("Harmonic mean", pooled.harmonic_mean, "weighs bad frames more"),
      ),
      h("p", {}, spread(pooled)),
      model ? h("p", { class: "hint" }, `Model ${model}. ${modelWords(model)}`) : null,
      h("div", { class: "row no-print" },
        h("button", { type: "button", onclick: () => download(`/v1/history/${this.id}/report?format=html`, `${name}.html`) }, "Save as page"),
        h("button", { type: "button", onclick: async () => { const png = await this.chart.png(titleOf(one)); if (png) save(png, `${name}.png`); } }, "Save curve as PNG"),
        h("button", { type: "button", onclick: () => download(`/v1/history/${this.id}/report?format=csv`, `${name}.csv`) }, "Save as CSV"),
        h("button", { type: "button", onclick: () => download(`/v1/history/${this.id}/report?format=json`, `${name}.json`) }, "Save as JSON"),
        h("button", { type: "button", onclick: () => print() }, "Print"),
      ),
    );
  }

  /** Whether the score can be trusted, and why not. @param {any} summary */
  trust(summary) {
    const verdict = summary.comparability?.comparable;
    /** @type {string[]} */
    const reasons = (summary.comparability?.reasons ?? []).map((/** @type {any} */ reason) => (typeof reason === "string" ? reason : reason.text ?? ""));
    const same = summary.identical ? ["The two videos are identical, sample for sample. A score below 100 would still be right then: VMAF is a trained model."] : [];
    const notes = [...same, ...reasons, ...(summary.notes ?? []), ...(summary.mismatched_model_warning ? [summary.mismatched_model_warning] : [])];
    const pairing = summary.pairing?.summary;
    if (!notes.length && !pairing) return null;
    const words = verdict === "yes" || verdict === undefined ? "The two videos can be compared" : verdict === "warn" ? "The score may be misleading" : "The score means little: the two videos cannot be compared";
    return h("section", { class: `card trust ${verdict ?? "yes"}`, "aria-labelledby": "trust-title" },
      h("h2", { id: "trust-title" }, words),
      pairing ? h("p", {}, `Frames: ${pairing}.`) : null,
      notes.length ? h("ul", {}, ...notes.map((note) => h("li", {}, note, remedy(note) && verdict !== "yes" ? h("span", { class: "hint" }, ` ${remedy(note)}`) : null))) : null,
    );
  }

  /** What is wrong with the encode that the score does not show, or does not name. @param {any} summary @param {number | null} fps */
  faults(summary, fps) {
    /** @type {{ text: string, from_frame: number, confidence: number }[]} */
    const found = summary.warnings ?? [];
    if (!found.length) return null;
    /** @param {{ text: string, from_frame: number, confidence: number }} fault */
    const line = (fault) => h("li", {}, `${fault.text} `, h("span", { class: "hint" }, `(${Math.round(100 * fault.confidence)} % sure) `), h("button", { type: "button", class: "plain", onclick: () => this.viewer?.show(fault.from_frame) }, `Look at ${moment(fault.from_frame, fps)}`));
    const more = summary.further_warnings ? h("p", { class: "hint" }, `The saved report has ${summary.further_warnings} more.`) : null;
    return h("section", { class: "card trust warn", "aria-labelledby": "faults-title" }, h("h2", { id: "faults-title" }, "Faults that were found"), h("ul", {}, ...found.map(line)), more);
  }

  /** Cancelled, failed or interrupted. @param {Entry} one */
  ended(one) {
    const words = { cancelled: "It was cancelled.", failed: "It failed.", interrupted: "The server ended before it was done. Start it again." };
    const text = one.error ?? words[/** @type {keyof typeof words} */ (one.status)] ?? `It is ${one.status}.`;
    const advice = remedy(text);
    const forced = FORCED.test(text);
    const message = h("div", { class: "message", role: "alert" }, h("p", {}, sentence(text.replace(FORCED, ""))), advice && h("p", { class: "hint" }, advice));
    /** @param {Record<string, unknown>} more */
    const start = (more) => async () => {
      try {
        const accepted = await json("/v1/jobs", { ...one.request, ...more });
        location.hash = `#/run/${accepted.job_id}`;
      } catch (error) {
        put(message, h("p", {}, error instanceof Error ? error.message : String(error)));
      }
    };
    const again = forced ? h("button", { type: "button", onclick: start({ force: true }) }, "Score all the same") : h("button", { type: "button", class: "primary", onclick: start({}) }, "Start again");
    put(this.head, h("h1", {}, titleOf(one)), message, again);
    put(this.chartCard);
    this.chartCard.hidden = true;
  }

  /** @param {unknown} error */
  failed(error) {
    const text = error instanceof ApiError && error.status === 404 ? "This score is not in the history any more." : error instanceof Error ? error.message : String(error);
    put(this.head, h("h1", {}, "Score"), h("div", { class: "message", role: "alert" }, h("p", {}, text)));
    this.chartCard.hidden = !this.scores.length;
  }
}

/** A small square in a curve's colour, for tables. @param {number} index */
export function swatch(index) {
  const square = h("span", { class: "swatch", "aria-hidden": "true" });
  square.style.backgroundColor = colourOf(index);
  return square;
}
