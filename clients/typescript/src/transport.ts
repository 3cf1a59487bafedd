// One request after the other over `fetch`: deadlines, what is tried again, and problems as errors.

import { ConnectionLost, MemorywireError, Unavailable, errorOf, type Problem } from "./errors.js";

export interface Connection {
  url: string;
  token?: string;
  /** For a token of several tenants. */
  tenant?: string;
  /** For one try of a request; 30,000 by default. */
  timeoutMs?: number;
  /** How often a request is sent again when that is safe; 2 by default. */
  retries?: number;
  /** What sends the requests, `globalThis.fetch` by default. */
  fetch?: typeof fetch;
}

export interface Sending {
  body?: unknown;
  query?: Record<string, unknown>;
  /** Whether the request may be carried out twice without harm: it only reads, or it has an idempotency key. */
  repeatable: boolean;
  signal?: AbortSignal;
}

/** Refused before anything was done, so every request may be sent again. */
const REFUSED_UNSEEN = new Set(["rate_limited", "overloaded"]);
const PASSES = new Set([502, 503, 504]);
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;

export class Transport {
  readonly #base: string;
  readonly #headers: Record<string, string>;
  readonly #timeoutMs: number;
  readonly #retries: number;
  readonly #fetch: typeof fetch;

  constructor(connection: Connection) {
    this.#base = connection.url.replace(/\/+$/, "");
    this.#headers = {
      ...(connection.token === undefined ? {} : { Authorization: `Bearer ${connection.token}` }),
      ...(connection.tenant === undefined ? {} : { "Memorywire-Tenant": connection.tenant }),
    };
    this.#timeoutMs = connection.timeoutMs ?? 30_000;
    this.#retries = connection.retries ?? 2;
    this.#fetch = connection.fetch ?? ((input, init) => globalThis.fetch(input, init));
  }

  /** The answer as JSON; an error of the server is thrown as one of `errors.ts`. */
  async ask(method: string, path: readonly string[], sending: Sending): Promise<unknown> {
    for (let tried = 0; ; tried += 1) {
      try {
        return await this.#askOnce(method, path, sending);
      } catch (error) {
        if (tried >= this.#retries || !isWorthATry(error, sending.repeatable)) throw error;
        await pause(pauseAfter(error, tried), sending.signal);
      }
    }
  }

  async #askOnce(method: string, path: readonly string[], sending: Sending): Promise<unknown> {
    const deadline = AbortSignal.timeout(this.#timeoutMs);
    const signal = sending.signal === undefined ? deadline : AbortSignal.any([deadline, sending.signal]);
    try {
      const response = await this.#send(method, path, sending, signal);
      const text = await response.text();
      return text === "" ? undefined : JSON.parse(text);
    } catch (error) {
      if (error instanceof MemorywireError || sending.signal?.aborted) throw error;
      const late = deadline.aborted ? ` within ${this.#timeoutMs} ms` : "";
      const fix = "see whether the server runs; a write with an idempotency key may be sent again";
      throw new ConnectionLost({ code: "no_answer", detail: `the server did not answer${late}`, fix }, 0, error);
    }
  }

  /** An open stream of events; the caller reads and ends it. */
  async open(path: readonly string[], query: Record<string, unknown>, signal: AbortSignal): Promise<Response> {
    return this.#send("GET", path, { query, repeatable: true }, signal);
  }

  async #send(method: string, path: readonly string[], sending: Sending, signal: AbortSignal): Promise<Response> {
    const init: RequestInit = { method, signal, headers: { ...this.#headers } };
    if (sending.body !== undefined) {
      init.body = JSON.stringify(sending.body);
      init.headers = { ...this.#headers, "Content-Type": "application/json" };
    }
    const response = await this.#fetch(this.#address(path, sending.query ?? {}), init);
    if (response.ok) return response;
    throw await readError(response);
  }

  #address(path: readonly string[], query: Record<string, unknown>): string {
    const options = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) options.set(name, String(value));
    }
    const rest = options.size > 0 ? `?${options}` : "";
    return `${this.#base}/v0/${path.map(encodeURIComponent).join("/")}${rest}`;
  }
}

const waits = new WeakMap<MemorywireError, number>();

async function readError(response: Response): Promise<MemorywireError> {
  const text = await response.text();
  const error = errorOf(readProblem(text, response.status), response.status);
  const seconds = Number(response.headers.get("Retry-After") ?? Number.NaN);
  if (Number.isFinite(seconds)) waits.set(error, seconds * 1000);
  return error;
}

function readProblem(text: string, status: number): Problem {
  try {
    const problem: unknown = JSON.parse(text);
    if (typeof problem === "object" && problem !== null && "code" in problem && "detail" in problem) {
      return problem as Problem;
    }
  } catch {
    // something between the client and the server has answered
  }
  return { code: "no_answer", detail: `status ${status} without a problem of memorywire`, fix: "check the URL" };
}

function isWorthATry(error: unknown, repeatable: boolean): boolean {
  if (!(error instanceof MemorywireError)) return false;
  if (REFUSED_UNSEEN.has(error.code)) return true;
  const mayPass = error instanceof ConnectionLost || (error instanceof Unavailable && PASSES.has(error.status));
  return repeatable && mayPass;
}

function pauseAfter(error: unknown, tried: number): number {
  const asked = error instanceof MemorywireError ? waits.get(error) : undefined;
  const longest = FIRST_PAUSE_MS * 2 ** tried;
  return Math.min(asked ?? longest * (0.5 + Math.random() / 2), LONGEST_PAUSE_MS);
}

/** Wait, or end with the signal's reason. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });
}
