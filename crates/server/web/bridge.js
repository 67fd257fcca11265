// @ts-check
// The conversation of an MCP App with its host: JSON-RPC over messages between windows.

/**
 * @typedef {{ jsonrpc: "2.0", id?: number | string, method?: string, params?: any, result?: any, error?: { message: string } }} Message
 */

const PROTOCOL = "2026-01-26";

export class Host {
  /** @param {Record<string, (params: any) => void>} handlers by the method of a notification */
  constructor(handlers) {
    this.handlers = handlers;
    this.next = 1;
    /** @type {Map<number | string, { done: (result: any) => void, fail: (error: Error) => void }>} */
    this.waiting = new Map();
    addEventListener("message", (event) => {
      // Only the window around this one is the host.
      if (event.source === parent) this.receive(/** @type {Message} */ (event.data));
    });
  }

  /** @param {Message} message */
  receive(message) {
    if (!message || message.jsonrpc !== "2.0") return;
    if (message.method !== undefined) {
      this.handlers[message.method]?.(message.params ?? {});
      // A request wants an answer, also one for which there is nothing to do.
      if (message.id !== undefined) this.post({ jsonrpc: "2.0", id: message.id, result: {} });
      return;
    }
    const waiting = message.id === undefined ? undefined : this.waiting.get(message.id);
    if (!waiting || message.id === undefined) return;
    this.waiting.delete(message.id);
    if (message.error) waiting.fail(new Error(message.error.message));
    else waiting.done(message.result);
  }

  /** @param {Message} message */
  post(message) {
    // The page does not know who its host is; what it sends is what the host gave it.
    parent.postMessage(message, "*");
  }

  /** @param {string} method @param {any} params @returns {Promise<any>} */
  request(method, params) {
    const id = this.next++;
    return new Promise((done, fail) => {
      this.waiting.set(id, { done, fail });
      this.post({ jsonrpc: "2.0", id, method, params });
    });
  }

  /** @param {string} method @param {any} [params] */
  notify(method, params = {}) {
    this.post({ jsonrpc: "2.0", method, params });
  }

  /** Introduces the app. @param {string} version */
  async start(version) {
    const answer = await this.request("ui/initialize", { protocolVersion: PROTOCOL, appInfo: { name: "visus", version }, appCapabilities: {} });
    this.notify("ui/notifications/initialized");
    new ResizeObserver(() => {
      const { width, height } = document.documentElement.getBoundingClientRect();
      this.notify("ui/notifications/size-changed", { width: Math.ceil(width), height: Math.ceil(height) });
    }).observe(document.documentElement);
    return answer;
  }
}
