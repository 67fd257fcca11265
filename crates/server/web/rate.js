// @ts-check
// Quality over bit rate, as SVG: points of one group are joined. The axis of rates is logarithmic.
import { fixed } from "./dom.js";
import { colourOf } from "./chart.js";

/** @typedef {{ group: string, name: string, kbps: number, score: number }} RatePoint */

const NAMESPACE = "http://www.w3.org/2000/svg";
const AREA = { width: 640, height: 300, left: 44, right: 16, top: 12, bottom: 36 };

/** @param {string} tag @param {Record<string, string | number>} attributes @param {string} [text] */
function svg(tag, attributes, text) {
  const element = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

/** Groups in the order in which they come. @param {RatePoint[]} points */
export function groupsOf(points) {
  return [...new Set(points.map((point) => point.group))];
}

/** @param {RatePoint[]} points @returns {SVGElement | null} */
export function rateChart(points) {
  const usable = points.filter((point) => point.kbps > 0 && Number.isFinite(point.score));
  if (!usable.length) return null;
  const groups = groupsOf(usable);
  const words = usable.map((point) => `${point.name}: ${Math.round(point.kbps)} kbit/s, ${fixed(point.score, 1)}`).join("; ");
  const root = svg("svg", { viewBox: `0 0 ${AREA.width} ${AREA.height}`, class: "rate", role: "img", "aria-label": `Score over bit rate. ${words}` });
  const rates = usable.map((point) => Math.log10(point.kbps));
  const [least, most] = [Math.min(...rates) - 0.08, Math.max(...rates) + 0.08];
  const low = Math.min(90, Math.floor((Math.min(...usable.map((point) => point.score)) - 1) / 10) * 10);
  /** @param {number} kbps */
  const x = (kbps) => AREA.left + ((Math.log10(kbps) - least) / (most - least)) * (AREA.width - AREA.left - AREA.right);
  /** @param {number} score */
  const y = (score) => AREA.height - AREA.bottom - ((score - low) / (100 - low)) * (AREA.height - AREA.top - AREA.bottom);
  for (let score = low; score <= 100; score += 10) {
    root.append(svg("line", { x1: AREA.left, x2: AREA.width - AREA.right, y1: y(score), y2: y(score), class: "grid-line" }), svg("text", { x: AREA.left - 6, y: y(score) + 4, "text-anchor": "end" }, String(score)));
  }
  for (const kbps of ticks(10 ** least, 10 ** most)) root.append(svg("text", { x: x(kbps), y: AREA.height - AREA.bottom + 16, "text-anchor": "middle" }, kbps >= 1000 ? `${kbps / 1000} Mbit/s` : `${kbps} kbit/s`));
  groups.forEach((group, index) => {
    const own = usable.filter((point) => point.group === group).sort((a, b) => a.kbps - b.kbps);
    const path = own.map((point, place) => `${place ? "L" : "M"}${x(point.kbps).toFixed(1)} ${y(point.score).toFixed(1)}`).join("");
    const name = svg("text", { x: AREA.width - AREA.right, y: AREA.height - AREA.bottom - 10 - 16 * (groups.length - 1 - index), "text-anchor": "end" }, group);
    name.style.fill = colourOf(index);
    root.append(name, svg("path", { d: path, fill: "none", stroke: colourOf(index), "stroke-width": 1.5 }));
    for (const point of own) {
      const dot = svg("circle", { cx: x(point.kbps), cy: y(point.score), r: 4, fill: colourOf(index) });
      dot.append(svg("title", {}, `${point.name}: ${Math.round(point.kbps)} kbit/s, ${fixed(point.score, 1)}`));
      root.append(dot);
    }
  });
  return root;
}

/** @param {number} from @param {number} to */
function ticks(from, to) {
  const found = [];
  for (let power = 1; power < 1e7; power *= 10) {
    for (const step of [1, 2, 5]) if (power * step >= from && power * step <= to) found.push(power * step);
  }
  return found.length > 6 ? found.filter((_, place) => place % 2 === 0) : found;
}
