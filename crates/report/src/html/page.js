"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const chart = document.getElementById("chart");
  const overview = document.getElementById("overview");
  const tip = document.getElementById("tip");
  const NS = "http://www.w3.org/2000/svg";
  const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const VALUE = new Map([...DIGITS].map((digit, value) => [digit, value]));

  // Differences in units of 1/scale, five bits per letter, lowest first; "!" stands where a frame has no score.
  function decode(text, scale) {
    const out = [];
    let last = 0, shift = 1, number = 0;
    for (const letter of text) {
      if (letter === "!") { out.push(null); continue; }
      const bits = VALUE.get(letter);
      number += (bits & 31) * shift;
      if (bits & 32) { shift *= 32; continue; }
      last += number % 2 ? -(number + 1) / 2 : number / 2;
      out.push(last / scale);
      shift = 1; number = 0;
    }
    return out;
  }

  const curves = data.curves.map((curve, index) => ({
    name: curve.name, index, values: decode(curve.data, curve.scale), shown: true,
    digits: curve.scale >= 1000 ? 4 : 2,
  }));
  const count = Math.max(1, ...curves.map((curve) => curve.values.length));
  const numbers = data.numbers ? decode(data.numbers, 1) : null;
  // Long films come in groups: two points, the lowest and the highest score, for so many frames.
  const group = data.group;
  const frameAt = (place) => {
    const at = group > 1 ? Math.floor(place / 2) * group : place;
    return numbers ? numbers[Math.min(at, numbers.length - 1)] : data.first + at * data.step;
  };
  const placeOf = (frame) => {
    let low = 0, high = count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (frameAt(middle) <= frame) low = middle; else high = middle - 1;
    }
    return low;
  };
  const last = count - 1;
  const view = { from: 0, to: Math.max(last, 1), fit: false, cursor: null };
  const pad = { left: 44, right: 10, top: 8, bottom: 26 };
  let width = 0, height = 0, drag = null;

  const make = (name, attributes, parent) => {
    const element = document.createElementNS(NS, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (parent) parent.append(element);
    return element;
  };
  const shown = () => curves.filter((curve) => curve.shown);

  function step(span, most) {
    const rough = Math.max(span / Math.max(1, most), 1e-9);
    const power = 10 ** Math.floor(Math.log10(rough));
    return (([1, 2, 5].find((factor) => factor * power >= rough * 0.999999)) || 10) * power;
  }
  function heights(from, to) {
    let low = Infinity, high = -Infinity;
    for (const curve of shown()) {
      for (let place = Math.max(0, Math.floor(from)); place <= Math.min(last, Math.ceil(to)); place++) {
        const value = curve.values[place];
        if (value === null || value === undefined) continue;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
    if (low > high) return [0, 100];
    const size = step(Math.max(high - low, Math.abs(high) * 0.02, 1e-3), 5);
    low = Math.floor(low / size + 1e-9) * size;
    high = Math.ceil(high / size - 1e-9) * size;
    if (!view.fit && high >= 85 && high < 100 && low >= 0) high = 100;
    return [low, high > low ? high : low + size];
  }
  const time = (frame) => {
    if (!data.fps) return "";
    const seconds = frame / data.fps, whole = Math.floor(seconds / 60);
    const rest = (seconds - whole * 60).toFixed(2).padStart(5, "0");
    return whole >= 60 ? `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}:${rest}` : `${whole}:${rest}`;
  };

  // At most two points per pixel column: the lowest and the highest score in it.
  function path(curve, from, to, x, y, columns) {
    const first = Math.max(0, Math.floor(from)), end = Math.min(last, Math.ceil(to));
    const every = Math.max(1, Math.floor((end - first) / (2 * columns)));
    let text = "", pen = false;
    const point = (place) => {
      text += `${pen ? "L" : "M"}${x(place).toFixed(1)} ${y(curve.values[place]).toFixed(1)}`;
      pen = true;
    };
    for (let start = first; start <= end; start += every) {
      let low = -1, high = -1;
      for (let place = start; place < Math.min(start + every, end + 1); place++) {
        const value = curve.values[place];
        if (value === null || value === undefined) { pen = false; continue; }
        if (low < 0 || value < curve.values[low]) low = place;
        if (high < 0 || value > curve.values[high]) high = place;
      }
      if (low < 0) continue;
      point(Math.min(low, high));
      if (low !== high) point(Math.max(low, high));
    }
    return last === 0 ? text + "h3" : text;
  }

  const svg = make("svg", { class: "plot", "aria-hidden": "true" });
  const small = make("svg", { "aria-hidden": "true", preserveAspectRatio: "none" });
  const xOf = (place) => pad.left + ((place - view.from) / (view.to - view.from)) * (width - pad.left - pad.right);
  const placeAt = (pixel) => view.from + ((pixel - pad.left) / (width - pad.left - pad.right)) * (view.to - view.from);

  function draw() {
    width = chart.clientWidth; height = svg.clientHeight || 320;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren();
    const [low, high] = heights(...(view.fit ? [view.from, view.to] : [0, last]));
    const bottom = height - pad.bottom;
    const y = (value) => bottom - ((value - low) / (high - low)) * (bottom - pad.top);
    const size = step(high - low, Math.max(2, Math.floor(height / 55)));
    for (let value = Math.ceil(low / size - 1e-9) * size; value <= high + size * 1e-6; value += size) {
      make("line", { class: "grid", x1: pad.left, x2: width - pad.right, y1: y(value), y2: y(value) }, svg);
      const digits = size >= 1 ? 0 : size >= 0.1 ? 1 : 2;
      make("text", { class: "axis", x: pad.left - 7, y: y(value) + 4, "text-anchor": "end" }, svg).textContent = value.toFixed(digits);
    }
    frameTicks(bottom);
    const clip = make("clipPath", { id: "inside" }, make("defs", {}, svg));
    make("rect", { x: pad.left, y: 0, width: Math.max(0, width - pad.left - pad.right), height: bottom + 1 }, clip);
    const inside = make("g", { "clip-path": "url(#inside)" }, svg);
    for (const [start] of data.shots.slice(1)) {
      const x = xOf(placeOf(start) - 0.5);
      if (x > pad.left && x < width - pad.right) make("line", { class: "cut", x1: x, x2: x, y1: pad.top, y2: bottom }, inside);
    }
    for (const curve of shown().reverse()) {
      make("path", { class: `curve c${curve.index % 7}`, d: path(curve, view.from - 1, view.to + 1, xOf, y, width) }, inside);
    }
    if (drag && drag.to !== undefined) {
      const [a, b] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)];
      make("rect", { class: "select", x: xOf(a), y: pad.top, width: xOf(b) - xOf(a), height: bottom - pad.top }, inside);
    }
    cursor(inside, y, bottom);
    drawOverview();
    buttons();
  }
  function frameTicks(bottom) {
    const from = frameAt(Math.max(0, Math.ceil(view.from))), to = frameAt(Math.min(last, Math.floor(view.to)));
    const size = Math.max(1, step(Math.max(1, to - from), Math.max(2, Math.floor(width / 110))));
    for (let frame = Math.ceil(from / size) * size; frame <= to; frame += size) {
      const x = xOf(placeOf(frame));
      make("text", { class: "axis", x, y: bottom + 17, "text-anchor": "middle" }, svg).textContent = frame;
    }
  }
  function cursor(parent, y, bottom) {
    tip.hidden = view.cursor === null;
    if (view.cursor === null) return;
    const place = view.cursor, x = xOf(place), frame = frameAt(place);
    make("line", { class: "cursor", x1: x, x2: x, y1: pad.top, y2: bottom }, parent);
    const title = document.createElement("strong");
    const until = group > 1 ? `–${frame + group * data.step - 1}` : "";
    title.textContent = `Frame ${frame}${until}${data.fps ? `, ${time(frame)}` : ""}`;
    const table = document.createElement("table");
    const spoken = [];
    for (const curve of shown()) {
      const value = curve.values[place];
      const text = value === null || value === undefined ? "no score" : value.toFixed(curve.digits);
      if (text !== "no score") make("circle", { class: `bin c${curve.index % 7}`, cx: x, cy: y(value), r: 3.5 }, parent);
      const row = table.insertRow();
      row.className = `c${curve.index % 7}`;
      row.insertCell().textContent = curve.name;
      row.insertCell().textContent = text;
      spoken.push(`${curve.name} ${text}`);
    }
    tip.replaceChildren(title, table);
    tip.style.left = x < width / 2 ? `${x + 12}px` : "auto";
    tip.style.right = x < width / 2 ? "auto" : `${width - x + 12}px`;
    chart.setAttribute("aria-valuenow", frame);
    chart.setAttribute("aria-valuetext", `frame ${frame}: ${spoken.join(", ")}`);
  }
  function drawOverview() {
    overview.hidden = view.to - view.from >= last;
    if (overview.hidden) return;
    const wide = overview.clientWidth, tall = 40;
    small.setAttribute("viewBox", `0 0 ${wide} ${tall}`);
    small.replaceChildren();
    const [low, high] = heights(0, last);
    const x = (place) => pad.left + (place / Math.max(1, last)) * (wide - pad.left - pad.right);
    const y = (value) => tall - 3 - ((value - low) / (high - low)) * (tall - 6);
    make("rect", { class: "back", width: wide, height: tall }, small);
    for (const curve of shown()) make("path", { class: `curve c${curve.index % 7}`, d: path(curve, 0, last, x, y, wide) }, small);
    const [from, to] = [x(view.from), x(view.to)];
    make("rect", { class: "window", x: from, width: Math.max(2, to - from), height: tall }, small);
    for (const at of [from, to]) make("line", { class: "window-edge", x1: at, x2: at, y1: 0, y2: tall }, small);
  }

  function show(from, to) {
    const least = Math.min(Math.max(last, 1), 4);
    let span = Math.min(Math.max(to - from, least), Math.max(last, 1));
    const middle = (from + to) / 2;
    from = Math.min(Math.max(0, middle - span / 2), Math.max(last, 1) - span);
    view.from = from; view.to = from + span;
    draw();
  }
  const zoom = (factor, about = (view.from + view.to) / 2) =>
    show(about - (about - view.from) * factor, about + (view.to - about) * factor);
  const pan = (share) => { const by = (view.to - view.from) * share; show(view.from + by, view.to + by); };
  const whole = () => show(0, Math.max(last, 1));
  function point(place) {
    view.cursor = Math.min(last, Math.max(0, Math.round(place)));
    if (view.cursor < view.from || view.cursor > view.to) {
      const half = (view.to - view.from) / 2;
      show(view.cursor - half, view.cursor + half);
    } else draw();
  }
  function goTo(from, to) {
    const [a, b] = [placeOf(from), placeOf(to)];
    const room = Math.max(2, (b - a) * 0.05);
    view.cursor = null;
    show(a - room, b + room);
    chart.scrollIntoView({ block: "nearest" });
  }
  function buttons() {
    const all = view.to - view.from >= last;
    for (const name of ["out", "whole", "left", "right"]) document.getElementById(name).disabled = all;
    document.getElementById("in").disabled = view.to - view.from <= Math.min(last, 4);
    document.documentElement.dataset.range = `${frameAt(Math.max(0, Math.ceil(view.from)))}-${frameAt(Math.min(last, Math.floor(view.to)))}`;
  }

  const on = (id, run) => document.getElementById(id).addEventListener("click", run);
  on("in", () => zoom(0.5, view.cursor ?? undefined));
  on("out", () => zoom(2));
  on("whole", whole);
  on("left", () => pan(-0.5));
  on("right", () => pan(0.5));
  on("fit", (event) => {
    view.fit = !view.fit;
    event.currentTarget.setAttribute("aria-pressed", view.fit);
    draw();
  });
  for (const chip of document.querySelectorAll(".chip")) {
    chip.addEventListener("click", () => {
      const curve = curves[chip.dataset.curve];
      curve.shown = !curve.shown;
      chip.setAttribute("aria-pressed", curve.shown);
      for (const part of document.querySelectorAll(`[data-of="${curve.index}"]`)) part.hidden = !curve.shown;
      draw();
    });
  }
  for (const jump of document.querySelectorAll("[data-jump]")) {
    jump.addEventListener("click", () => {
      const [from, to, at] = jump.dataset.jump.split(" ").map(Number);
      goTo(from, to);
      if (at >= 0) point(placeOf(at));
    });
  }

  const local = (event) => event.clientX - chart.getBoundingClientRect().left;
  chart.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button === 0) {
      drag = { from: placeAt(local(event)) };
      try { chart.setPointerCapture(event.pointerId); } catch { /* the pointer is gone already */ }
    }
    point(placeAt(local(event)));
  });
  chart.addEventListener("pointermove", (event) => {
    if (drag) drag.to = Math.min(last, Math.max(0, placeAt(local(event))));
    view.cursor = Math.min(last, Math.max(0, Math.round(placeAt(local(event)))));
    draw();
  });
  const release = () => {
    const ended = drag;
    drag = null;
    if (ended && ended.to !== undefined && Math.abs(xOf(ended.to) - xOf(ended.from)) > 8) {
      show(Math.min(ended.from, ended.to), Math.max(ended.from, ended.to));
    } else draw();
  };
  chart.addEventListener("pointerup", release);
  chart.addEventListener("pointercancel", release);
  chart.addEventListener("pointerleave", (event) => {
    if (!drag && event.pointerType === "mouse" && document.activeElement !== chart) { view.cursor = null; draw(); }
  });
  chart.addEventListener("dblclick", whole);
  chart.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, placeAt(local(event)));
  }, { passive: false });
  const KEYS = {
    ArrowLeft: (big) => point((view.cursor ?? view.from) - (big ? 10 : 1)),
    ArrowRight: (big) => point((view.cursor ?? view.from) + (big ? 10 : 1)),
    PageDown: () => pan(0.5), PageUp: () => pan(-0.5), Home: () => point(0), End: () => point(last),
    "+": () => zoom(0.5, view.cursor ?? undefined), "=": () => zoom(0.5, view.cursor ?? undefined), "-": () => zoom(2), "0": whole,
    Escape: () => { view.cursor = null; whole(); },
  };
  chart.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key](event.shiftKey);
  });
  const slide = (event) => {
    if (event.type === "pointermove" && event.buttons === 0) return;
    const box = overview.getBoundingClientRect();
    const at = ((event.clientX - box.left - pad.left) / (box.width - pad.left - pad.right)) * last;
    const half = (view.to - view.from) / 2;
    show(at - half, at + half);
  };
  overview.addEventListener("pointerdown", slide);
  overview.addEventListener("pointermove", slide);

  chart.querySelector(".still")?.remove();
  chart.prepend(svg);
  overview.append(small);
  for (const part of document.querySelectorAll(".script")) part.hidden = false;
  draw();
  new ResizeObserver(() => { if (chart.clientWidth !== width || svg.clientHeight !== height) draw(); }).observe(chart);
  document.documentElement.dataset.ready = "yes";
})();
