// @ts-check
// The HTTP API, as any other client uses it. The token comes in the address behind `#` and is kept for this tab alone.

/**
 * @typedef {{ id: string, tool: string, created: number, ended: number | null, status: string, error: string | null, request: Record<string, any>, inputs: { name: string, path: string, bytes: number | null }[], metric: string | null, score: number | null, frames: number | null }} Entry
 * @typedef {{ name: string, path: string, kind: "folder" | "file", bytes?: number | null, modified?: number | null }} FileEntry
 * @typedef {{ path: string | null, parent: string | null, entries: FileEntry[] }} Folder
 * @typedef {{ job_id: string, status: string, progress: { done: number, total: number | null, per_second: number | null, eta_s: number | null, message: string }, scores?: { from: number, values: (number | null)[] }, samples?: { from: number, values: Sample[] }, error?: string }} JobEvent
 * @typedef {{ job: string, quality: number, score: number, kbps: number, cached: boolean }} Sample
 */

const KEY = "visus-token";

/** Takes the token out of the address, so that it is in no bookmark and no history. */
export function takeToken() {
  const found = /^#token=([^&]*)/.exec(location.hash);
  if (!found) return;
  sessionStorage.setItem(KEY, found[1]);
  history.replaceState(null, "", location.pathname + location.search + "#/");
}

export function token() {
  return sessionStorage.getItem(KEY) ?? "";
}

/** @param {string} value */
export function setToken(value) {
  sessionStorage.setItem(KEY, value);
}

/** A refusal of the server, or no answer at all (status 0). */
export class ApiError extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** @type {((reachable: boolean, status: number) => void)[]} */
const watchers = [];

/** @param {(reachable: boolean, status: number) => void} watcher */
export function onConnection(watcher) {
  watchers.push(watcher);
}

/** @param {boolean} reachable @param {number} status */
function tell(reachable, status) {
  watchers.forEach((watcher) => watcher(reachable, status));
}

/**
 * @param {string} path
 * @param {RequestInit & { headers?: Record<string, string> }} [options]
 * @returns {Promise<Response>}
 */
export async function request(path, options = {}) {
  const headers = { ...options.headers, ...(token() ? { Authorization: `Bearer ${token()}` } : {}) };
  let response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    tell(false, 0);
    throw new ApiError(0, "The server does not answer. It may have been stopped.");
  }
  tell(true, response.status);
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw new ApiError(response.status, typeof body.error === "string" ? body.error : `The server answered ${response.status}.`);
}

/** @param {string} path @param {any} [body] @param {string} [method] @returns {Promise<any>} */
export async function json(path, body, method) {
  const sent = body === undefined ? { method } : { method: method ?? "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  return (await request(path, sent)).json();
}

/** @returns {Promise<Entry[]>} */
export async function entries() {
  return (await json("/v1/history")).entries;
}

/** @param {string} id @returns {Promise<{ entry: Entry, result?: any }>} */
export function entry(id) {
  return json(`/v1/history/${id}`);
}

/** @param {string} id @returns {Promise<Float32Array>} */
export async function curve(id) {
  return new Float32Array(await (await request(`/v1/history/${id}/curve`)).arrayBuffer());
}

/** @param {string | null} path @returns {Promise<Folder>} */
export function folder(path) {
  return json(path === null ? "/v1/files" : `/v1/files?path=${encodeURIComponent(path)}`);
}

/**
 * A frame as a picture.
 * @param {string} id @param {number} frame @param {"reference" | "distorted"} side
 * @param {{ width: number, height: number } | null} scaled
 * @param {AbortSignal} [signal]
 */
export async function picture(id, frame, side, scaled, signal) {
  const size = scaled ? `?width=${scaled.width}&height=${scaled.height}` : "";
  const response = await request(`/v1/history/${id}/frames/${frame}/${side}${size}`, { signal });
  return createImageBitmap(await response.blob());
}

/**
 * A small picture of a frame, or of one near it, that is there at once; null if there is none.
 * @param {string} id @param {number} frame @param {"reference" | "distorted"} side
 * @returns {Promise<{ image: ImageBitmap, off: number } | null>}
 */
export async function preview(id, frame, side) {
  const response = await request(`/v1/history/${id}/frames/${frame}/${side}?preview=true`);
  if (response.status === 204) return null;
  return { image: await createImageBitmap(await response.blob()), off: Number(response.headers.get("X-Visus-Frames-Off")) };
}

/** Saves what an address answers as a file. @param {string} path @param {string} name */
export async function download(path, name) {
  save(await (await request(path)).blob(), name);
}

/** @param {Blob} blob @param {string} name */
export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

const PAUSE = 1000;
const LONGEST_PAUSE = 10_000;

/**
 * Follows a job to its end, and goes on where it was when the connection was cut.
 * @param {string} id
 * @param {(event: JobEvent) => void} onevent
 * @param {AbortSignal} signal
 * @returns {Promise<JobEvent>} the last event
 */
export async function follow(id, onevent, signal) {
  let last = "";
  let pause = PAUSE;
  for (;;) {
    try {
      /** @type {Record<string, string>} */
      const headers = { Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) };
      const response = await request(`/v1/jobs/${id}/events`, { headers, signal });
      for await (const { id: place, data } of messages(response)) {
        /** @type {JobEvent} */
        const event = JSON.parse(data);
        last = place || last;
        pause = PAUSE;
        onevent(event);
        if (event.status !== "queued" && event.status !== "running") return event;
      }
    } catch (error) {
      if (signal.aborted) throw error;
      // The job is over and forgotten, or the token is wrong: waiting does not help.
      if (error instanceof ApiError && error.status >= 400 && error.status < 500) throw error;
    }
    await new Promise((done) => setTimeout(done, pause));
    if (signal.aborted) throw new DOMException("aborted", "AbortError");
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }
}

/**
 * The messages of an event stream.
 * @param {Response} response
 * @returns {AsyncGenerator<{ id: string, data: string }>}
 */
async function* messages(response) {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      const lines = rest.slice(0, end).split("\n");
      rest = rest.slice(end + 2);
      /** @param {string} name */
      const field = (name) => lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trimStart()).join("\n");
      const data = field("data");
      if (data) yield { id: field("id"), data };
    }
  }
}
