// @ts-check
// Looking at a pair of frames: side by side, wipe, flicker, amplified difference, error by block. Zoom and pan move both.
import { announce, fixed, h, moment, put } from "./dom.js";
import { ApiError, picture, preview } from "./api.js";
import { remedy } from "./explain.js";

/**
 * @typedef {"side" | "wipe" | "flicker" | "difference" | "blocks"} Mode
 * @typedef {{ reference: ImageBitmap, distorted: ImageBitmap, derived: Map<string, HTMLCanvasElement>, small?: boolean }} Pair
 */

/** @type {[Mode, string, string][]} */
const MODES = [
  ["side", "Side by side", "1"],
  ["wipe", "Wipe", "2"],
  ["flicker", "Flicker", "3"],
  ["difference", "Difference", "4"],
  ["blocks", "Error by block", "5"],
];

const MOST_KEPT = 12;
const BLOCK = 16;
const FLICKER = 400;

export class Viewer {
  /** @param {{ id: string, frames: number, fps: number | null, score: (frame: number) => number | null, worst: () => number[], onframe: (frame: number) => void }} options */
  constructor(options) {
    this.options = options;
    this.frame = 0;
    /** @type {Mode} */
    this.mode = "side";
    this.zoom = 1;
    this.centre = { x: 0.5, y: 0.5 };
    this.split = 0.5;
    this.amplify = 8;
    this.second = false;
    this.timer = 0;
    /** @type {Map<number, Promise<Pair>>} */
    this.kept = new Map();
    /** @type {Pair | null} */
    this.pair = null;
    this.canvas = h("canvas", { class: "look", tabindex: "0", role: "img", "aria-label": "The frame" });
    this.caption = h("p", { class: "caption", "aria-live": "polite" });
    this.message = h("div", { class: "message", role: "alert" });
    this.slider = h("input", { type: "range", min: "0", max: "100", value: "50", id: "split", oninput: () => { this.split = Number(this.slider.value) / 100; this.draw(); } });
    this.gain = h("input", { type: "range", min: "0", max: "5", step: "1", value: "3", id: "gain", oninput: () => { this.amplify = 2 ** Number(this.gain.value); this.draw(); } });
    this.extra = h("div", { class: "row extra" });
    this.tabs = h("div", { class: "row", role: "group", "aria-label": "How to look" }, ...MODES.map(([mode, name, key]) => h("button", { type: "button", "data-mode": mode, "aria-keyshortcuts": key, onclick: () => this.setMode(mode) }, name)));
    this.element = h(
      "section",
      { class: "card", "aria-labelledby": "look-title" },
      h("h2", { id: "look-title" }, "Look"),
      this.tabs,
      this.extra,
      this.canvas,
      this.caption,
      this.message,
      h("div", { class: "row" },
        h("button", { type: "button", onclick: () => this.step(-1) }, "Previous frame"),
        h("button", { type: "button", onclick: () => this.step(1) }, "Next frame"),
        h("button", { type: "button", class: "primary", "aria-keyshortcuts": "n", onclick: () => this.nextWorst(1) }, "Next worst frame"),
        h("button", { type: "button", onclick: () => this.zoomBy(2) }, "Zoom in"),
        h("button", { type: "button", onclick: () => this.zoomBy(0.5) }, "Zoom out"),
        h("button", { type: "button", onclick: () => this.fit() }, "Fit"),
      ),
      h("p", { class: "hint" }, "Keys: 1 to 5 choose how to look, left and right step, N and P go through the worst frames, + and − zoom, F fits."),
    );
    this.listen();
    this.setMode("side");
  }

  listen() {
    const canvas = this.canvas;
    new ResizeObserver(() => this.draw()).observe(canvas);
    /** @type {{ x: number, y: number, centre: { x: number, y: number } } | null} */
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      drag = { x: event.offsetX, y: event.offsetY, centre: { ...this.centre } };
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!drag) return;
      if (this.mode === "wipe" && this.zoom === 1) {
        this.split = Math.min(1, Math.max(0, event.offsetX / canvas.clientWidth));
        this.slider.value = String(Math.round(this.split * 100));
      } else {
        const scale = this.scale();
        this.centre.x = drag.centre.x - (event.offsetX - drag.x) / (scale * this.width());
        this.centre.y = drag.centre.y - (event.offsetY - drag.y) / (scale * this.height());
        this.bound();
      }
      this.draw();
    });
    canvas.addEventListener("pointerup", () => { drag = null; });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY / 400));
    }, { passive: false });
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof HTMLInputElement) return;
    const pan = 0.1 / this.zoom;
    const mode = MODES.find(([, , key]) => key === event.key);
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowLeft: () => (event.shiftKey ? this.panBy(-pan, 0) : this.step(-1)),
      ArrowRight: () => (event.shiftKey ? this.panBy(pan, 0) : this.step(1)),
      ArrowUp: () => this.panBy(0, -pan),
      ArrowDown: () => this.panBy(0, pan),
      n: () => this.nextWorst(1),
      p: () => this.nextWorst(-1),
      f: () => this.fit(),
      "+": () => this.zoomBy(2),
      "=": () => this.zoomBy(2),
      "-": () => this.zoomBy(0.5),
    };
    const act = mode ? () => this.setMode(mode[0]) : keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** @param {Mode} mode */
  setMode(mode) {
    this.mode = mode;
    for (const button of this.tabs.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
    clearInterval(this.timer);
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (mode === "flicker" && !still) this.timer = setInterval(() => this.swap(), FLICKER);
    const swap = h("button", { type: "button", onclick: () => this.swap() }, "Swap");
    put(
      this.extra,
      mode === "wipe" && h("label", { for: "split" }, "Reference to the left of ", this.slider),
      mode === "difference" && h("label", { for: "gain" }, "Amplification ", this.gain),
      mode === "flicker" && swap,
      mode === "blocks" && h("span", { class: "hint" }, "The distorted picture in grey. Red blocks differ most from the reference; blocks without colour hardly differ."),
    );
    this.draw();
  }

  swap() {
    // A viewer that is gone from the page does not flicker on.
    if (!this.element.isConnected) clearInterval(this.timer);
    this.second = !this.second;
    this.draw();
  }

  /** @param {number} by */
  step(by) {
    return this.show(this.frame + by);
  }

  /** @param {number} by */
  nextWorst(by) {
    const worst = this.options.worst();
    if (!worst.length) return;
    const at = worst.indexOf(this.frame);
    const next = at < 0 ? 0 : (at + by + worst.length) % worst.length;
    return this.show(worst[next]);
  }

  /** Shows a frame. @param {number} frame */
  async show(frame) {
    this.frame = Math.max(0, Math.min(Math.round(frame), this.options.frames - 1));
    const wanted = this.frame;
    this.options.onframe(wanted);
    const place = `Frame ${wanted}, ${moment(wanted, this.options.fps)}, score ${fixed(this.options.score(wanted))}`;
    this.caption.textContent = `${place}: loading…`;
    if (!this.kept.has(wanted)) this.showPreview(wanted, place).catch(() => {});
    try {
      const pair = await this.load(wanted);
      if (wanted !== this.frame) return;
      this.pair = pair;
      put(this.message);
      this.caption.textContent = place;
      this.canvas.setAttribute("aria-label", `${place}: reference and distorted picture`);
      this.canvas.dataset.frame = String(wanted);
      delete this.canvas.dataset.preview;
      this.draw();
      this.ahead(wanted);
    } catch (error) {
      if (wanted !== this.frame) return;
      const text = error instanceof Error ? error.message : String(error);
      const advice = remedy(text);
      this.caption.textContent = place;
      put(this.message, h("p", {}, text), advice && h("p", { class: "hint" }, advice));
      announce(text);
    }
  }

  /**
   * Shows small pictures until those of the frame are decoded.
   * @param {number} wanted @param {string} place
   */
  async showPreview(wanted, place) {
    const { id } = this.options;
    const [reference, distorted] = await Promise.all([preview(id, wanted, "reference"), preview(id, wanted, "distorted")]);
    const late = wanted !== this.frame || this.canvas.dataset.frame === String(wanted);
    if (!reference || !distorted || reference.off !== distorted.off || late) return;
    this.pair = { reference: reference.image, distorted: distorted.image, derived: new Map(), small: true };
    const which = reference.off === 0 ? "a preview" : `a preview of frame ${wanted + reference.off}`;
    this.caption.textContent = `${place}: ${which}; loading…`;
    delete this.canvas.dataset.frame;
    this.canvas.dataset.preview = String(wanted);
    this.draw();
  }

  /** What is likely to be looked at next. @param {number} frame */
  ahead(frame) {
    const worst = this.options.worst();
    const next = worst[(worst.indexOf(frame) + 1) % Math.max(1, worst.length)];
    for (const one of [next, frame + 1]) {
      if (one !== undefined && one < this.options.frames) this.load(one).catch(() => {});
    }
  }

  /** @param {number} frame @returns {Promise<Pair>} */
  load(frame) {
    const known = this.kept.get(frame);
    if (known) return known;
    const loading = this.fetch(frame);
    this.kept.set(frame, loading);
    loading.catch(() => this.kept.delete(frame));
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= MOST_KEPT) break;
      if (oldest !== this.frame) this.kept.delete(oldest);
    }
    return loading;
  }

  /** Both pictures; the distorted one in the size of the reference. @param {number} frame @returns {Promise<Pair>} */
  async fetch(frame) {
    const { id } = this.options;
    const [reference, own] = await Promise.all([picture(id, frame, "reference", null), picture(id, frame, "distorted", null)]);
    const same = reference.width === own.width && reference.height === own.height;
    const distorted = same ? own : await picture(id, frame, "distorted", { width: reference.width, height: reference.height });
    return { reference, distorted, derived: new Map() };
  }

  width() {
    return this.pair?.reference.width ?? 16;
  }

  height() {
    return this.pair?.reference.height ?? 9;
  }

  panes() {
    return this.mode === "side" ? 2 : 1;
  }

  /** The canvas has the shape of what is in it, as far as the height of the screen allows. */
  shape() {
    this.canvas.style.aspectRatio = `${this.panes() * this.width()} / ${this.height()}`;
  }

  /** Pixels of the screen for one of the picture. */
  scale() {
    const wide = this.canvas.clientWidth / this.panes();
    return Math.min(wide / this.width(), this.canvas.clientHeight / this.height()) * this.zoom;
  }

  /** @param {number} factor */
  zoomBy(factor) {
    this.zoom = Math.min(32, Math.max(1, this.zoom * factor));
    this.bound();
    this.draw();
  }

  /** @param {number} x @param {number} y */
  panBy(x, y) {
    this.centre.x += x;
    this.centre.y += y;
    this.bound();
    this.draw();
  }

  fit() {
    this.zoom = 1;
    this.centre = { x: 0.5, y: 0.5 };
    this.draw();
  }

  bound() {
    const half = 0.5 / this.zoom;
    this.centre.x = Math.min(1 - half, Math.max(half, this.centre.x));
    this.centre.y = Math.min(1 - half, Math.max(half, this.centre.y));
  }

  draw() {
    this.shape();
    const ratio = devicePixelRatio || 1;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const context = this.canvas.getContext("2d");
    if (!width || !height || !context) return;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = "#000000";
    context.fillRect(0, 0, width, height);
    const pair = this.pair;
    // Small pictures are compressed: their differences are not the videos'.
    if (!pair || (pair.small && (this.mode === "difference" || this.mode === "blocks"))) return;
    /** @type {Record<Mode, () => void>} */
    const draw = {
      side: () => {
        this.pane(context, pair.reference, 0, width / 2, "Reference");
        this.pane(context, pair.distorted, width / 2, width / 2, "Distorted");
      },
      wipe: () => {
        this.pane(context, pair.distorted, 0, width, "");
        context.save();
        context.beginPath();
        context.rect(0, 0, width * this.split, height);
        context.clip();
        this.pane(context, pair.reference, 0, width, "Reference");
        context.restore();
        context.fillStyle = "#ffffff";
        context.fillRect(width * this.split - 1, 0, 2, height);
      },
      flicker: () => this.pane(context, this.second ? pair.distorted : pair.reference, 0, width, this.second ? "Distorted" : "Reference"),
      difference: () => this.pane(context, derived(pair, `difference ${this.amplify}`, (a, b, out) => difference(a, b, out, this.amplify)), 0, width, `Difference × ${this.amplify}`),
      blocks: () => this.pane(context, derived(pair, "blocks", blocks), 0, width, "Error by block"),
    };
    draw[this.mode]();
  }

  /** @param {CanvasRenderingContext2D} context @param {CanvasImageSource} image @param {number} left @param {number} wide @param {string} name */
  pane(context, image, left, wide, name) {
    const scale = this.scale();
    const [width, height] = [this.width() * scale, this.height() * scale];
    const x = left + wide / 2 - this.centre.x * width;
    const y = this.canvas.clientHeight / 2 - this.centre.y * height;
    context.save();
    context.beginPath();
    context.rect(left, 0, wide, this.canvas.clientHeight);
    context.clip();
    context.imageSmoothingEnabled = scale < 2;
    context.drawImage(image, x, y, width, height);
    if (name) {
      context.font = "13px system-ui, sans-serif";
      const box = context.measureText(name).width + 16;
      context.fillStyle = "rgba(0, 0, 0, 0.7)";
      context.fillRect(left + 8, 8, box, 24);
      context.fillStyle = "#ffffff";
      context.fillText(name, left + 16, 25);
    }
    context.restore();
  }
}

/**
 * A picture that is computed from both, once.
 * @param {Pair} pair @param {string} key @param {(a: ImageData, b: ImageData, out: ImageData) => void} compute
 */
function derived(pair, key, compute) {
  const known = pair.derived.get(key);
  if (known) return known;
  const { width, height } = pair.reference;
  const [a, b] = [pixels(pair.reference, width, height), pixels(pair.distorted, width, height)];
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  if (a && b && context) {
    const out = context.createImageData(width, height);
    compute(a, b, out);
    context.putImageData(out, 0, 0);
  }
  pair.derived.set(key, canvas);
  return canvas;
}

/** @param {ImageBitmap} image @param {number} width @param {number} height */
function pixels(image, width, height) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context?.drawImage(image, 0, 0, width, height);
  return context?.getImageData(0, 0, width, height) ?? null;
}

/** Mid grey where nothing differs. @param {ImageData} a @param {ImageData} b @param {ImageData} out @param {number} amplify */
export function difference(a, b, out, amplify) {
  for (let i = 0; i < a.data.length; i += 4) {
    for (let c = 0; c < 3; c += 1) out.data[i + c] = 128 + amplify * (b.data[i + c] - a.data[i + c]);
    out.data[i + 3] = 255;
  }
}

/** The distorted picture in grey, and a colour over every block of 16 by 16: the more error, the more red. @param {ImageData} a @param {ImageData} b @param {ImageData} out */
export function blocks(a, b, out) {
  const { width, height } = a;
  for (let top = 0; top < height; top += BLOCK) {
    for (let left = 0; left < width; left += BLOCK) {
      const [right, bottom] = [Math.min(left + BLOCK, width), Math.min(top + BLOCK, height)];
      let sum = 0;
      for (let y = top; y < bottom; y += 1) {
        for (let x = left; x < right; x += 1) {
          const i = 4 * (y * width + x);
          const apart = luma(b.data, i) - luma(a.data, i);
          sum += apart * apart;
        }
      }
      // 12 levels of root mean square error are as red as it gets.
      const share = Math.min(1, Math.sqrt(sum / ((right - left) * (bottom - top))) / 12);
      for (let y = top; y < bottom; y += 1) {
        for (let x = left; x < right; x += 1) {
          const i = 4 * (y * width + x);
          const edge = x === left || y === top ? 0.15 : 0;
          const part = Math.min(0.75, share * 0.7 + (share > 0.1 ? edge : 0));
          const grey = (1 - part) * luma(b.data, i);
          out.data[i] = grey + part * 255;
          out.data[i + 1] = grey + part * 200 * (1 - share);
          out.data[i + 2] = grey;
          out.data[i + 3] = 255;
        }
      }
    }
  }
}

/** @param {Uint8ClampedArray} data @param {number} i */
function luma(data, i) {
  return 0.2126 * data[i] + 0.7152 * data[i + 1] + 0.0722 * data[i + 2];
}

/** Whether an error means that the entry is gone. @param {unknown} error */
export function isGone(error) {
  return error instanceof ApiError && error.status === 404;
}
