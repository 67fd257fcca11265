// @ts-check
// The MCP App: the curve of a score and its worst frames, inside the conversation. A frame that is clicked is shown by the
// server's own tool.
import { byId, fixed, h, moment, put } from "./dom.js";
import { Pyramid } from "./pyramid.js";
import { Chart } from "./chart.js";
import { meaning, spread } from "./explain.js";
import { Host } from "./bridge.js";

/** @type {Record<string, any>} */
let request = {};
const host = new Host({
  "ui/notifications/tool-input": (params) => { request = params.arguments ?? {}; },
  "ui/notifications/tool-result": (params) => showResult(params),
  "ui/notifications/tool-cancelled": () => say("It was cancelled."),
});

/** @param {string} text */
function say(text) {
  put(byId("app"), h("p", { class: "card", role: "status" }, text));
}

/** The structured answer of a tool, or the one in its text. @param {any} params @returns {any} */
function answerOf(params) {
  if (params.structuredContent) return params.structuredContent;
  const text = (params.content ?? []).find((/** @type {any} */ item) => item.type === "text")?.text;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** @param {any} params */
async function showResult(params) {
  const answer = answerOf(params);
  if (params.isError || !answer) return say(answer?.error ?? "There is no result to show.");
  if (answer.frames && !answer.pooled_metrics) return showFrames(answer, params);
  if (answer.job_id && answer.pooled_metrics) return showScore(answer);
  say(answer.job_id ? `Job ${answer.job_id}: ${answer.status ?? "submitted"}` : "This result has no curve.");
}

/** The scores of all frames, page by page, or the short curve of the summary. @param {any} answer */
async function scoresOf(answer) {
  const scores = new Pyramid();
  const name = answer.provenance?.models?.[0]?.name ?? "vmaf";
  try {
    for (let from = 0; from !== null && from < 200_000; ) {
      const read = await host.request("resources/read", { uri: `visus://jobs/${answer.job_id}/frames?from=${from}&count=1000` });
      const page = JSON.parse(read.contents[0].text);
      for (const frame of page.frames ?? []) {
        while (scores.length < frame.frameNum) scores.add(NaN);
        scores.add(frame.metrics?.[name] ?? NaN);
      }
      from = page.next ?? null;
    }
  } catch {
    const points = answer.curve?.lowest ?? [];
    const each = answer.curve?.frames_per_point ?? 1;
    points.forEach((/** @type {number | null} */ value, /** @type {number} */ index) => {
      while (scores.length < Math.round((index + 1) * each)) scores.add(value ?? NaN);
    });
  }
  return scores;
}

/** @param {any} answer */
async function showScore(answer) {
  const name = answer.provenance?.models?.[0]?.name ?? "vmaf";
  const pooled = answer.pooled_metrics?.[name] ?? {};
  const rate = /^(\d+)\/(\d+)$/.exec(answer.provenance?.reference?.frame_rate ?? "");
  const fps = rate ? Number(rate[1]) / Number(rate[2]) : null;
  const means = meaning(pooled.mean);
  const looked = h("div", { role: "status" });
  const chart = new Chart({ label: "Score of every frame", fps, onpick: (frame) => look(frame, looked) });
  const list = h("div", { class: "row" });
  put(byId("app"),
    h("div", { class: "card" }, h("h1", {}, answer.provenance?.models?.[0]?.model ?? "Score"), h("div", { class: "tiles" }, h("div", { class: `tile score ${means.level}` }, h("strong", {}, fixed(pooled.mean)), h("span", {}, `VMAF: ${means.word}`), h("small", {}, means.text)), h("div", { class: "tile" }, h("strong", {}, fixed(pooled.p5)), h("span", {}, "5th percentile")), h("div", { class: "tile" }, h("strong", {}, fixed(pooled.min)), h("span", {}, "Lowest"))), h("p", {}, spread(pooled)), chart.element, list, looked),
  );
  const scores = await scoresOf(answer);
  chart.marks = scores.worst(6);
  chart.show([{ name, scores, colour: 0 }]);
  put(list, ...chart.marks.map((frame) => h("button", { type: "button", onclick: () => { chart.place(frame); look(frame, looked); } }, `${moment(frame, fps)} · ${fixed(scores.at(frame), 1)}`)));
}

/** Asks the server for pictures of the worst frames around a frame, and shows the nearest. @param {number} frame @param {HTMLElement} place */
async function look(frame, place) {
  put(place, `Looking at frame ${frame}…`);
  try {
    const asked = { ...request, n: 8, background: undefined, detail: undefined, output_fmt: undefined };
    const result = await host.request("tools/call", { name: "describe_worst_frames", arguments: JSON.parse(JSON.stringify(asked)) });
    const frames = answerOf(result)?.frames ?? [];
    const nearest = frames.reduce((/** @type {any} */ best, /** @type {any} */ one) => (best && Math.abs(best.frame_index - frame) <= Math.abs(one.frame_index - frame) ? best : one), null);
    const pictures = (result.content ?? []).filter((/** @type {any} */ item) => item.type === "image");
    put(place, ...(nearest ? [pictureOf(nearest, pictures[frames.indexOf(nearest)])] : ["There is no picture of it."]));
  } catch (error) {
    put(place, `The host does not let the app look: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** @param {any} frame @param {any} image */
function pictureOf(frame, image) {
  const source = image ? `data:${image.mimeType};base64,${image.data}` : null;
  return h("figure", {}, source ? h("img", { src: source, alt: `Frame ${frame.frame_index}: reference, distorted and difference` }) : null, h("figcaption", {}, frame.description ?? ""));
}

/** @param {any} answer @param {any} params */
function showFrames(answer, params) {
  const pictures = (params.content ?? []).filter((/** @type {any} */ item) => item.type === "image");
  put(byId("app"), h("div", { class: "card" }, h("h1", {}, "Worst frames"), ...answer.frames.map((/** @type {any} */ frame, /** @type {number} */ place) => pictureOf(frame, pictures[place]))));
}

say("Waiting for a score…");
host.start("1").catch((error) => say(error instanceof Error ? error.message : String(error)));
