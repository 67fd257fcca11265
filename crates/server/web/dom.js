// @ts-check
// Helpers over the DOM. Text is always set as text, never as markup: file names come from anywhere.

/** @typedef {Node | string | null | undefined | false} Child */

/**
 * An element. `onclick` and the like are listeners, booleans are attributes that are there or not, the rest are attributes.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, unknown>} [props]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else if (value === true) {
      element.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, String(value));
    }
  }
  put(element, ...children);
  return element;
}

/**
 * Replaces what is in an element.
 * @param {Element} element
 * @param {...Child} children
 */
export function put(element, ...children) {
  const kept = children.filter((child) => child !== null && child !== undefined && child !== false);
  element.replaceChildren(.../** @type {(Node | string)[]} */ (kept));
}

/**
 * The element with an id, which is part of the page.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element ${id}`);
  return element;
}

/** A name without characters that show nothing or turn the text around. @param {string} name */
export function plain(name) {
  return name.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "");
}

/** @param {number | null | undefined} value @param {number} [digits] */
export function fixed(value, digits = 2) {
  return typeof value === "number" && Number.isFinite(value) ? value.toFixed(digits) : "–";
}

/** @param {number | null | undefined} bytes */
export function size(bytes) {
  if (typeof bytes !== "number") return "";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let value = bytes;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value.toFixed(value < 10 && unit > 0 ? 1 : 0)} ${units[unit]}`;
}

/**
 * A moment in a video: `1:02.48`, or the frame where the rate is not known.
 * @param {number} frame @param {number | null} fps
 */
export function moment(frame, fps) {
  if (!fps) return `frame ${frame}`;
  const seconds = frame / fps;
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  const rest = (seconds % 60).toFixed(2).padStart(5, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Says something to people who listen to the page rather than look at it. @param {string} text */
export function announce(text) {
  const region = document.getElementById("announcer");
  if (region) region.textContent = text;
}
