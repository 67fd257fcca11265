// @ts-check
// Choosing a reference and encodes of it, from the allowed folders or by their paths.
import { announce, h, plain, put, size } from "./dom.js";
import { ApiError, folder, json } from "./api.js";
import { remedy } from "./explain.js";

/** @typedef {import("./api.js").FileEntry} FileEntry */

const LIKE_A_REFERENCE = /(^|[^a-z])(ref|reference|source|src|master|original|orig|pristine)([^a-z]|$)/i;

/**
 * Which of some files is most likely the reference: one that is named so, else the largest; of several named so, the largest.
 * @param {FileEntry[]} files
 */
export function likelyReference(files) {
  const named = files.filter((file) => LIKE_A_REFERENCE.test(file.name));
  const likely = named.length ? named : files;
  return likely.reduce((/** @type {FileEntry | null} */ a, b) => (!a || (b.bytes ?? 0) > (a.bytes ?? 0) ? b : a), null);
}

/** The last part of a path, for people. @param {string} path */
export function baseName(path) {
  return plain(path.split(/[\\/]/).pop() || path);
}

export class Picker {
  /** @param {{ onstart: (requests: Record<string, unknown>[]) => Promise<void> }} options */
  constructor(options) {
    this.options = options;
    /** @type {string | null} */
    this.reference = null;
    /** @type {string[]} */
    this.distorted = [];
    /** @type {import("./api.js").Folder | null} */
    this.folder = null;
    this.list = h("div", { class: "files" });
    this.chosen = h("div", { class: "chosen" });
    this.message = h("div", { class: "message", role: "alert" });
    this.start = h("button", { class: "primary", type: "submit", disabled: true }, "Score");
    this.form = this.options_();
    this.element = h(
      "form",
      { class: "card", "aria-labelledby": "new-title", onsubmit: (/** @type {Event} */ event) => this.submit(event) },
      h("h1", { id: "new-title" }, "Score a video"),
      h("p", { class: "hint" }, "Choose the original, and one or more encodes of it."),
      this.list,
      this.paths(),
      this.chosen,
      this.form,
      this.message,
      this.start,
    );
    this.element.addEventListener("dragover", (event) => event.preventDefault());
    this.element.addEventListener("drop", (event) => this.dropped(event));
  }

  /** Fields for those who have paths rather than patience. */
  paths() {
    const input = h("input", { id: "path", type: "text", autocomplete: "off", spellcheck: "false", placeholder: "/videos/encode.mp4" });
    /** @param {boolean} isReference */
    const add = (isReference) => () => {
      if (input.value.trim()) this.choose(input.value.trim(), isReference);
      input.value = "";
    };
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      add(this.reference === null)();
    });
    return h(
      "details",
      { class: "more" },
      h("summary", {}, "Enter or drop a path"),
      h("label", { for: "path" }, "Path of a file on the server"),
      h("div", { class: "row" }, input, h("button", { type: "button", onclick: add(true) }, "Use as reference"), h("button", { type: "button", onclick: add(false) }, "Add as encode")),
    );
  }

  options_() {
    this.model = h("select", { id: "model" }, h("option", { value: "auto" }, "Choose for me (by size and frame rate)"));
    this.scale = h("select", { id: "scale" }, ...["", "reference", "distorted", "off"].map((word) => h("option", { value: word }, word === "" ? "As the model needs it" : word)));
    this.sync = h("select", { id: "sync" }, h("option", { value: "full" }, "Find drops and repeated frames"), h("option", { value: "offset" }, "Find the start only"), h("option", { value: "off" }, "Frame by frame"));
    this.force = h("input", { id: "force", type: "checkbox" });
    const number = (/** @type {string} */ id, /** @type {string} */ label) => h("label", { for: id }, label, h("input", { id, type: "number", min: "1", class: "small" }));
    this.pixfmt = h("select", { id: "pixfmt" }, h("option", { value: "" }, "–"), ...["420", "422", "444"].map((word) => h("option", { value: word }, word)));
    return h(
      "details",
      { class: "more" },
      h("summary", {}, "More options"),
      h("div", { class: "grid" },
        h("label", { for: "model" }, "Model", this.model),
        h("label", { for: "sync" }, "Pairing of frames", this.sync),
        h("label", { for: "scale" }, "Scaling", this.scale),
        h("label", { for: "force", class: "check" }, this.force, "Score also what is not comparable"),
      ),
      h("fieldset", {}, h("legend", {}, "Only for raw video"), h("div", { class: "grid" }, number("raw-width", "Width"), number("raw-height", "Height"), h("label", { for: "pixfmt" }, "Chroma", this.pixfmt), number("raw-depth", "Bit depth"))),
    );
  }

  /** Lists the folders and, where there is only one, what is in it. */
  async open() {
    await this.go(null);
    const only = this.folder?.entries.filter((entry) => entry.kind === "folder") ?? [];
    if (this.folder?.entries.length === 1 && only.length === 1) await this.go(only[0].path);
    json("/v1/tools/list_models", {}).then((answer) => {
      for (const model of answer.models ?? []) this.model?.append(h("option", { value: model.model ?? model.name }, model.name));
    }).catch(() => {});
  }

  /** @param {string | null} path */
  async go(path) {
    try {
      this.folder = await folder(path);
      this.complain(null);
      if (this.reference === null && !this.distorted.length) this.guess();
    } catch (error) {
      this.complain(error);
    }
    this.draw();
  }

  /** Two videos in a folder are most likely an original and its encode. */
  guess() {
    const files = (this.folder?.entries ?? []).filter((entry) => entry.kind === "file");
    const reference = files.length >= 2 ? likelyReference(files) : null;
    if (!reference) return;
    this.reference = reference.path;
    if (files.length === 2) this.distorted = files.filter((file) => file !== reference).map((file) => file.path);
  }

  /** @param {string} path @param {boolean} isReference */
  choose(path, isReference) {
    if (isReference) this.reference = path;
    else if (!this.distorted.includes(path)) this.distorted.push(path);
    this.distorted = this.distorted.filter((other) => other !== this.reference);
    this.draw();
  }

  /** @param {DragEvent} event */
  dropped(event) {
    event.preventDefault();
    const text = event.dataTransfer?.getData("text/uri-list") || event.dataTransfer?.getData("text/plain") || "";
    const paths = text.split(/\r?\n/).filter((line) => line && !line.startsWith("#")).map((line) => (line.startsWith("file://") ? decodeURIComponent(new URL(line).pathname) : line.trim()));
    if (!paths.length) {
      this.complain(new Error("Browsers do not say where a dropped file is. Choose it in the list, or drop its path as text."));
      return;
    }
    for (const path of paths) this.choose(path, this.reference === null);
  }

  /** @param {unknown} error */
  complain(error) {
    if (!error) return put(this.message);
    const text = error instanceof Error ? error.message : String(error);
    const advice = remedy(text);
    put(this.message, h("p", {}, text), advice && h("p", { class: "hint" }, advice));
  }

  draw() {
    put(this.list, this.crumbs(), this.table());
    const encodes = this.distorted.length;
    this.start.disabled = this.reference === null || encodes === 0;
    this.start.textContent = encodes > 1 ? `Score ${encodes} encodes` : "Score";
    const remove = (/** @type {string} */ path) => h("button", { type: "button", class: "plain", "aria-label": `Remove ${baseName(path)}`, onclick: () => { this.distorted = this.distorted.filter((other) => other !== path); this.draw(); } }, "×");
    put(
      this.chosen,
      h("dl", {},
        h("dt", {}, "Reference"), h("dd", {}, this.reference === null ? "not chosen yet" : baseName(this.reference)),
        h("dt", {}, encodes > 1 ? "Encodes" : "Encode"), ...(encodes ? this.distorted.map((path) => h("dd", {}, baseName(path), " ", remove(path))) : [h("dd", {}, "not chosen yet")]),
      ),
    );
  }

  crumbs() {
    const here = this.folder;
    if (!here || here.path === null) return h("p", { class: "where" }, "Folders");
    const up = h("button", { type: "button", onclick: () => this.go(here.parent) }, "Up");
    return h("p", { class: "where" }, up, " ", h("span", {}, plain(here.path)));
  }

  table() {
    const entries = this.folder?.entries ?? [];
    if (!entries.length) return h("p", { class: "hint" }, this.folder?.path === null ? "No folder is allowed. Start Visus with one: visus ui FOLDER." : "No videos here.");
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Videos in this folder" },
      h("table", {},
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Name"), h("th", { scope: "col", class: "number" }, "Size"), h("th", { scope: "col" }, "Reference"), h("th", { scope: "col" }, "Encode"))),
        h("tbody", {}, ...entries.map((entry) => this.row(entry))),
      ),
    );
  }

  /** @param {FileEntry} entry */
  row(entry) {
    if (entry.kind === "folder") {
      return h("tr", {}, h("td", {}, h("button", { type: "button", class: "plain", onclick: () => this.go(entry.path) }, `${entry.name}/`)), h("td"), h("td"), h("td"));
    }
    const radio = h("input", { type: "radio", name: "reference", "aria-label": `${entry.name} is the reference`, onchange: () => this.choose(entry.path, true) });
    radio.checked = this.reference === entry.path;
    const box = h("input", { type: "checkbox", "aria-label": `Score ${entry.name}`, disabled: this.reference === entry.path, onchange: () => {
      if (box.checked) this.choose(entry.path, false);
      else this.distorted = this.distorted.filter((path) => path !== entry.path);
      this.draw();
    } });
    box.checked = this.distorted.includes(entry.path);
    return h("tr", {}, h("td", {}, entry.name), h("td", { class: "number" }, size(entry.bytes)), h("td", {}, radio), h("td", {}, box));
  }

  /** What every request of this form has besides its files. */
  settings() {
    /** @type {Record<string, unknown>} */
    const settings = { model: this.model?.value || "auto" };
    if (this.sync && this.sync.value !== "full") settings.sync = this.sync.value;
    if (this.scale?.value) settings.scale = this.scale.value;
    if (this.force?.checked) settings.force = true;
    const raw = { width: "raw-width", height: "raw-height", bitdepth: "raw-depth" };
    for (const [name, id] of Object.entries(raw)) {
      const input = /** @type {HTMLInputElement | null} */ (this.element.querySelector(`#${id}`));
      if (input?.value) settings[name] = Number(input.value);
    }
    if (this.pixfmt?.value) settings.pixfmt = this.pixfmt.value;
    return settings;
  }

  /** @param {Event} event */
  async submit(event) {
    event.preventDefault();
    const settings = this.settings();
    const requests = this.distorted.map((distorted) => ({ reference: this.reference, distorted, ...settings }));
    this.start.disabled = true;
    try {
      await this.options.onstart(requests);
      this.complain(null);
    } catch (error) {
      this.complain(error);
      announce(error instanceof ApiError ? error.message : "The job could not be started.");
    }
    this.draw();
  }
}
