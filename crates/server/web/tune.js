// @ts-check
// Searches and ladders: started here, shown point by point while they run.
import { announce, fixed, h, put } from "./dom.js";
import { ApiError, entry, follow, folder, json, save } from "./api.js";
import { remedy } from "./explain.js";
import { groupsOf, rateChart } from "./rate.js";
import { settled, titleOf } from "./run.js";

/** @typedef {import("./api.js").Sample} Sample */

const TOOLS = {
  run_compare: "Find the setting of each encoder that reaches a score",
  run_ladder: "Build a ladder of renditions",
  run_tune_per_shot: "Find a setting for every shot",
};

/** The name of the encode that a sample belongs to, without its setting. @param {string} job */
export function curveName(job) {
  return job.replace(/\s+\(?(crf|qp|cq|q)?\s*\d+\)?$/i, "") || job;
}

/** The form that starts a search. */
export class TuneForm {
  constructor() {
    this.source = h("input", { id: "tune-source", type: "text", list: "tune-files", autocomplete: "off", required: true });
    this.files = h("datalist", { id: "tune-files" });
    this.tool = h("select", { id: "tune-tool", onchange: () => this.fields() }, ...Object.entries(TOOLS).map(([name, words]) => h("option", { value: name }, words)));
    this.more = h("div", { class: "grid" });
    this.message = h("div", { class: "message", role: "alert" });
    this.element = h("form", { class: "card", "aria-labelledby": "tune-title", onsubmit: (/** @type {Event} */ event) => this.submit(event) },
      h("h1", { id: "tune-title" }, "Tune"),
      h("p", { class: "hint" }, "Visus encodes parts of a source with different settings and measures each."),
      h("div", { class: "grid" }, h("label", { for: "tune-source" }, "Source, as a path", this.source), this.files, h("label", { for: "tune-tool" }, "What to do", this.tool)),
      this.more,
      this.message,
      h("button", { class: "primary", type: "submit" }, "Start"),
    );
    this.fields();
  }

  fields() {
    const field = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string} */ value) => h("label", { for: `tune-${name}` }, label, h("input", { id: `tune-${name}`, name, type: "text", value }));
    const all = {
      run_compare: [field("encoders", "Encoders", "libx264,libx265"), field("target_vmafs", "Targets", "90,94")],
      run_ladder: [field("encoder", "Encoder", "libx264"), field("resolutions", "Sizes", "1920x1080,1280x720"), field("target_vmafs", "Targets", "95,90,80")],
      run_tune_per_shot: [field("encoder", "Encoder", "libx264"), field("target_vmaf", "Target", "92")],
    };
    put(this.more, ...all[/** @type {keyof typeof all} */ (this.tool.value)]);
  }

  async open() {
    const roots = await folder(null).catch(() => null);
    for (const root of roots?.entries ?? []) {
      const inside = root.kind === "folder" ? (await folder(root.path).catch(() => null))?.entries ?? [] : [root];
      for (const file of inside) if (file.kind === "file") this.files.append(h("option", { value: file.path }));
    }
  }

  /** @param {Event} event */
  async submit(event) {
    event.preventDefault();
    /** @type {Record<string, unknown>} */
    const request = { src: this.source.value.trim() };
    for (const input of this.more.querySelectorAll("input")) {
      if (input.value.trim()) request[input.name] = input.name === "target_vmaf" ? Number(input.value) : input.value.trim();
    }
    try {
      const accepted = await json(`/v1/tools/${this.tool.value}`, request);
      location.hash = `#/tune/${accepted.job_id}`;
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      const advice = remedy(text);
      put(this.message, h("p", {}, text), advice && h("p", { class: "hint" }, advice));
    }
  }

  close() {}
}

/** A search while it runs, and what came of it. */
export class TuneView {
  /** @param {string} id */
  constructor(id) {
    this.id = id;
    this.stop = new AbortController();
    /** @type {Sample[]} */
    this.samples = [];
    this.head = h("div", { class: "card" });
    this.drawing = h("div");
    this.element = h("div", {}, this.head, this.drawing);
  }

  close() {
    this.stop.abort();
  }

  async open() {
    try {
      let found = await entry(this.id);
      if (found.entry.status === "queued" || found.entry.status === "running") {
        await this.live(found.entry);
        found = await settled(this.id, this.stop.signal);
      }
      this.done(found.entry, found.result);
    } catch (error) {
      if (!this.stop.signal.aborted) put(this.head, h("h1", {}, "Tune"), h("div", { class: "message", role: "alert" }, error instanceof Error ? error.message : String(error)));
    }
  }

  /** @param {import("./api.js").Entry} one */
  async live(one) {
    const words = h("p", { role: "status" }, "Waiting for its turn…");
    const bar = h("progress", { max: "1", "aria-label": "Progress" });
    put(this.head, h("h1", {}, titleOf(one)), bar, words, h("button", { type: "button", onclick: () => json(`/v1/jobs/${this.id}`, undefined, "DELETE").catch(() => {}) }, "Cancel"));
    try {
      await follow(this.id, (event) => {
        words.textContent = event.progress.message || event.status;
        if (event.progress.total) bar.value = event.progress.done / event.progress.total;
        if (event.samples && event.samples.from === this.samples.length) {
          this.samples.push(...event.samples.values);
          this.draw();
        }
      }, this.stop.signal);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error;
    }
  }

  draw() {
    const points = this.samples.map((sample) => ({ group: curveName(sample.job), name: `${curveName(sample.job)} at ${sample.quality}`, kbps: sample.kbps, score: sample.score }));
    const drawing = rateChart(points);
    put(this.drawing, drawing ? h("section", { class: "card", "aria-labelledby": "points-title" }, h("h2", { id: "points-title" }, "Measured"), h("p", { class: "hint" }, groupsOf(points).join(", ")), drawing) : null);
  }

  /** @param {import("./api.js").Entry} one @param {any} result */
  done(one, result) {
    if (one.status !== "done") {
      const text = one.error ?? `It was ${one.status}.`;
      const advice = remedy(text);
      return put(this.head, h("h1", {}, titleOf(one)), h("div", { class: "message", role: "alert" }, h("p", {}, text), advice && h("p", { class: "hint" }, advice)));
    }
    announce(`${titleOf(one)}: done`);
    if (!this.samples.length) this.samples = samplesOf(result);
    this.draw();
    put(this.head, h("h1", {}, titleOf(one)), resultTable(result), h("div", { class: "row no-print" }, h("button", { type: "button", onclick: () => save(new Blob([JSON.stringify(result, null, 2)], { type: "application/json" }), `${one.tool}.json`) }, "Save as JSON"), h("button", { type: "button", onclick: () => print() }, "Print")));
  }
}

/** The measurements in a finished result. @param {any} result @returns {Sample[]} */
function samplesOf(result) {
  const rows = (result?.rows ?? []).flatMap((/** @type {any} */ row) => (row.bisect_samples ?? []).map((/** @type {any} */ sample) => ({ job: row.codec, quality: sample.crf, score: sample.vmaf_score, kbps: sample.bitrate_kbps, cached: true })));
  const ladder = (manifestOf(result)?.samples ?? []).map((/** @type {any} */ sample) => ({ job: `${sample.width}x${sample.height}`, quality: sample.crf, score: sample.vmaf, kbps: sample.bitrate_kbps, cached: true }));
  return rows.length ? rows : ladder;
}

/** @param {any} result */
function manifestOf(result) {
  if (typeof result?.manifest !== "string") return result?.manifest ?? null;
  try {
    return JSON.parse(result.manifest);
  } catch {
    return null;
  }
}

/** @param {any} result */
function resultTable(result) {
  /** @param {string[]} names @param {(string | number)[][]} rows */
  const table = (names, rows) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Result" }, h("table", {}, h("thead", {}, h("tr", {}, ...names.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell) => h("td", {}, String(cell))))))));
  if (result?.rows) return table(["Encoder", "Target", "Setting", "Score", "kbit/s", "Remark"], result.rows.map((/** @type {any} */ row) => [row.codec, row.target_vmaf, row.best_crf, fixed(row.vmaf_score), fixed(row.bitrate_kbps, 0), row.error ?? ""]));
  const renditions = manifestOf(result)?.renditions;
  if (renditions) return table(["Size", "Setting", "Score", "kbit/s"], renditions.map((/** @type {any} */ one) => [`${one.width}×${one.height}`, one.crf, fixed(one.vmaf), fixed(one.bitrate_kbps, 0)]));
  if (result?.shots) return table(["Frames", "Setting", "Score", "kbit/s"], result.shots.map((/** @type {any} */ shot) => [`${shot.start_frame}–${shot.end_frame - 1}`, shot.crf, fixed(shot.predicted_vmaf), fixed(shot.bitrate_kbps, 0)]));
  return h("pre", {}, JSON.stringify(result, null, 2));
}
