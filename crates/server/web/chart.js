// @ts-check
// Curves of scores over time on a canvas: pan, zoom, a cursor that is moved by pointer and keys, several curves at once.
// Drawing looks at a few numbers per pixel, however long the video (see pyramid.js).
import { h, fixed, moment } from "./dom.js";
import { Pyramid } from "./pyramid.js";

/**
 * @typedef {{ name: string, scores: Pyramid, colour: number }} Series
 * @typedef {{ label: string, onpick: (frame: number) => void, fps?: number | null }} ChartOptions
 */

const MARGIN = { left: 44, right: 12, top: 10, bottom: 26 };
const LEAST_FRAMES = 8;

/** The colours of curves, in both schemes; told apart also by people who do not see red and green as others do. */
const COLOURS = { light: ["#0b57d0", "#b3261e", "#146c2e", "#8430ce", "#9a5b00", "#00696d"], dark: ["#8ab4f8", "#f2b8b5", "#81c995", "#d7aefb", "#fdd663", "#78d9ec"] };

/** @returns {"light" | "dark"} */
export function scheme() {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** @param {number} index */
export function colourOf(index) {
  const all = COLOURS[scheme()];
  return all[index % all.length];
}

export class Chart {
  /** @param {ChartOptions} options */
  constructor(options) {
    this.options = options;
    this.fps = options.fps ?? null;
    /** @type {Series[]} */
    this.series = [];
    this.total = 0;
    this.view = { from: 0, to: 1 };
    this.follows = true;
    /** @type {number | null} */
    this.cursor = null;
    /** @type {number[]} */
    this.marks = [];
    this.draws = 0;
    this.canvas = h("canvas", { class: "chart", tabindex: "0", role: "slider", "aria-label": options.label, "aria-valuemin": "0", "aria-valuemax": "0", "aria-valuenow": "0" });
    this.element = h("div", { class: "chart-box" }, this.canvas);
    this.pending = false;
    /** @type {{ x: number, from: number, moved: boolean } | null} */
    this.drag = null;
    this.listen();
  }

  listen() {
    const canvas = this.canvas;
    new ResizeObserver(() => this.redraw()).observe(this.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const wide = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
      if (wide) this.pan((event.deltaX || event.deltaY) / this.width());
      else this.zoom(Math.exp(event.deltaY / 400), this.frameAt(event.offsetX));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.drag = { x: event.offsetX, from: this.view.from, moved: false };
    });
    canvas.addEventListener("pointermove", (event) => this.moved(event));
    canvas.addEventListener("pointerup", (event) => {
      const drag = this.drag;
      this.drag = null;
      if (drag && !drag.moved) this.pick(this.frameAt(event.offsetX));
    });
    canvas.addEventListener("pointercancel", () => { this.drag = null; });
    canvas.addEventListener("dblclick", () => this.showAll());
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  /** @param {PointerEvent} event */
  moved(event) {
    if (!this.drag) return;
    const shift = event.offsetX - this.drag.x;
    if (Math.abs(shift) > 3) this.drag.moved = true;
    if (this.drag.moved) this.moveTo(this.drag.from - (shift / this.width()) * (this.view.to - this.view.from));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const page = Math.max(1, Math.round((this.view.to - this.view.from) / 10));
    const at = this.cursor ?? Math.round(this.view.from);
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowLeft: () => this.pick(at - (event.shiftKey ? page : 1)),
      ArrowRight: () => this.pick(at + (event.shiftKey ? page : 1)),
      PageUp: () => this.pick(at - page),
      PageDown: () => this.pick(at + page),
      Home: () => this.pick(0),
      End: () => this.pick(this.total - 1),
      "+": () => this.zoom(0.5, at),
      "=": () => this.zoom(0.5, at),
      "-": () => this.zoom(2, at),
      "0": () => this.showAll(),
    };
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  }

  /** @param {Series[]} series @param {number} [total] */
  show(series, total) {
    this.series = series;
    this.grown(total);
  }

  /** Scores were added. @param {number} [total] */
  grown(total) {
    const longest = Math.max(0, ...this.series.map((one) => one.scores.length));
    this.total = Math.max(longest, total ?? 0);
    if (this.follows) this.view = { from: 0, to: Math.max(1, this.total) };
    this.canvas.setAttribute("aria-valuemax", String(Math.max(0, this.total - 1)));
    this.redraw();
  }

  width() {
    return Math.max(1, this.canvas.clientWidth - MARGIN.left - MARGIN.right);
  }

  /** @param {number} x */
  frameAt(x) {
    const share = (x - MARGIN.left) / this.width();
    return this.view.from + share * (this.view.to - this.view.from);
  }

  /** @param {number} frame */
  xOf(frame) {
    return MARGIN.left + ((frame - this.view.from) / (this.view.to - this.view.from)) * this.width();
  }

  showAll() {
    this.follows = true;
    this.view = { from: 0, to: Math.max(1, this.total) };
    this.redraw();
  }

  /** @param {number} factor @param {number} around */
  zoom(factor, around) {
    const { from, to } = this.view;
    const length = Math.min(Math.max((to - from) * factor, Math.min(LEAST_FRAMES, this.total || 1)), Math.max(1, this.total));
    const share = (around - from) / (to - from);
    this.follows = length >= this.total;
    this.view = { from: 0, to: length };
    this.moveTo(around - share * length);
  }

  /** @param {number} share */
  pan(share) {
    this.moveTo(this.view.from + share * (this.view.to - this.view.from));
  }

  /** @param {number} from */
  moveTo(from) {
    const length = this.view.to - this.view.from;
    const start = Math.max(0, Math.min(from, this.total - length));
    this.view = { from: start, to: start + length };
    if (start > 0) this.follows = false;
    this.redraw();
  }

  /** Puts the cursor on a frame and says so. @param {number} frame */
  pick(frame) {
    if (!this.total) return;
    this.place(frame);
    this.options.onpick(/** @type {number} */ (this.cursor));
  }

  /** Puts the cursor on a frame. @param {number} frame */
  place(frame) {
    this.cursor = Math.max(0, Math.min(Math.round(frame), this.total - 1));
    if (this.cursor < this.view.from || this.cursor >= this.view.to) this.moveTo(this.cursor - (this.view.to - this.view.from) / 2);
    const scores = this.series.map((one) => `${one.name} ${fixed(one.scores.at(this.cursor ?? 0))}`);
    this.canvas.setAttribute("aria-valuenow", String(this.cursor));
    this.canvas.setAttribute("aria-valuetext", `frame ${this.cursor}, ${moment(this.cursor, this.fps)}: ${scores.join(", ")}`);
    this.redraw();
  }

  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw();
    });
  }

  draw() {
    const ratio = devicePixelRatio || 1;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (!width || !height) return;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.paint(context, width, height, scheme() === "dark");
    this.draws += 1;
  }

  /** @param {CanvasRenderingContext2D} context @param {number} width @param {number} height @param {boolean} dark */
  paint(context, width, height, dark) {
    const bottom = height - MARGIN.bottom;
    context.fillStyle = dark ? "#16191d" : "#ffffff";
    context.fillRect(0, 0, width, height);
    const { low, high } = this.bounds();
    /** @param {number} score */
    const y = (score) => bottom - ((score - low) / (high - low)) * (bottom - MARGIN.top);
    this.grid(context, { width, bottom, low, high, y, dark });
    context.save();
    context.beginPath();
    context.rect(MARGIN.left, 0, width - MARGIN.left - MARGIN.right, bottom + 1);
    context.clip();
    this.series.forEach((one) => {
      one.scores.touched = 0;
      context.strokeStyle = COLOURS[dark ? "dark" : "light"][one.colour % 6];
      context.lineWidth = 1.25;
      this.trace(context, one.scores, y);
    });
    this.markers(context, y, dark, bottom);
    context.restore();
  }

  /** The scores between which curves are drawn: down to the lowest in view, by tens. */
  bounds() {
    let [low, high] = [100, 0];
    for (const one of this.series) {
      const range = one.scores.range(this.view.from, this.view.to);
      if (range) [low, high] = [Math.min(low, range[0]), Math.max(high, range[1])];
    }
    if (high < low) return { low: 0, high: 100 };
    const top = high > 100 || high < 10 ? Math.ceil(high / 5) * 5 : 100;
    const floor = Math.floor((low - 1) / 10) * 10;
    return { low: Math.min(floor, top - 10), high: top };
  }

  /** @param {CanvasRenderingContext2D} context @param {{ width: number, bottom: number, low: number, high: number, y: (score: number) => number, dark: boolean }} area */
  grid(context, { width, bottom, low, high, y, dark }) {
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = dark ? "#c4c7c5" : "#444746";
    context.strokeStyle = dark ? "#33373d" : "#e1e3e1";
    context.lineWidth = 1;
    context.textAlign = "right";
    context.textBaseline = "middle";
    const step = high - low > 50 ? 20 : high - low > 20 ? 10 : 5;
    for (let score = Math.ceil(low / step) * step; score <= high; score += step) {
      context.beginPath();
      context.moveTo(MARGIN.left, y(score));
      context.lineTo(width - MARGIN.right, y(score));
      context.stroke();
      context.fillText(String(score), MARGIN.left - 6, y(score));
    }
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const frame of this.ticks(width)) {
      const words = this.fps ? moment(frame, this.fps).replace(/\.00$/, "") : String(frame);
      context.fillText(words, Math.min(this.xOf(frame), width - 24), bottom + 6);
    }
  }

  /** Frames under which there is a label. @param {number} width */
  ticks(width) {
    const wanted = (this.view.to - this.view.from) / Math.max(2, Math.floor(width / 110));
    const unit = this.fps ?? 1;
    const steps = this.fps ? [0.04, 0.2, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600] : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5];
    const step = Math.max(1, (steps.find((one) => one * unit >= wanted) ?? steps[steps.length - 1] * 4) * unit);
    const found = [];
    for (let frame = Math.ceil(this.view.from / step) * step; frame < this.view.to && found.length < 50; frame += step) found.push(Math.round(frame));
    return found;
  }

  /** A line through the scores, or through the lowest and highest of each pixel. @param {CanvasRenderingContext2D} context @param {Pyramid} scores @param {(score: number) => number} y */
  trace(context, scores, y) {
    const { from, to } = this.view;
    const perPixel = (to - from) / this.width();
    context.beginPath();
    let drawn = false;
    /** @param {number} x @param {number} score */
    const point = (x, score) => {
      if (drawn) context.lineTo(x, y(score));
      else context.moveTo(x, y(score));
      drawn = true;
    };
    if (perPixel <= 1) {
      for (let frame = Math.max(0, Math.floor(from) - 1); frame <= Math.min(scores.length - 1, Math.ceil(to)); frame += 1) {
        const score = scores.at(frame);
        scores.touched += 1;
        if (score === null) continue;
        point(this.xOf(frame), score);
      }
    } else {
      for (let pixel = 0; pixel < this.width(); pixel += 1) {
        const start = from + pixel * perPixel;
        const range = scores.range(start, start + perPixel);
        if (!range) continue;
        point(MARGIN.left + pixel, range[1]);
        point(MARGIN.left + pixel, range[0]);
      }
    }
    context.stroke();
  }

  /** @param {CanvasRenderingContext2D} context @param {(score: number) => number} y @param {boolean} dark @param {number} bottom */
  markers(context, y, dark, bottom) {
    const first = this.series[0];
    context.fillStyle = dark ? "#f2b8b5" : "#b3261e";
    for (const frame of this.marks) {
      const score = first?.scores.at(frame);
      if (score === null || score === undefined) continue;
      context.beginPath();
      context.arc(this.xOf(frame), y(score), 4, 0, 2 * Math.PI);
      context.fill();
    }
    if (this.cursor === null) return;
    context.strokeStyle = dark ? "#e3e3e3" : "#1f1f1f";
    context.beginPath();
    context.moveTo(this.xOf(this.cursor), 0);
    context.lineTo(this.xOf(this.cursor), bottom);
    context.stroke();
  }

  /** The chart as a PNG file, with its names. @param {string} title @returns {Promise<Blob | null>} */
  png(title) {
    const canvas = document.createElement("canvas");
    const [width, height, head] = [Math.max(640, this.canvas.clientWidth), 360, 24 + 18 * this.series.length];
    canvas.width = width;
    canvas.height = height + head;
    const context = canvas.getContext("2d");
    if (!context) return Promise.resolve(null);
    context.fillStyle = "#ffffff";
    context.fillRect(0, 0, width, height + head);
    context.font = "bold 14px system-ui, sans-serif";
    context.fillStyle = "#1f1f1f";
    context.fillText(title, 12, 18);
    context.font = "12px system-ui, sans-serif";
    this.series.forEach((one, index) => {
      context.fillStyle = COLOURS.light[one.colour % 6];
      context.fillText(`— ${one.name}`, 12, 38 + 18 * index);
    });
    context.translate(0, head);
    this.paint(context, width, height, false);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }
}
