// The stream of events: parsed as it comes, and taken up again where it ended.

import { ConnectionLost, LimitExceeded, MemorywireError, Unavailable } from "./errors.js";
import { pause, type Transport } from "./transport.js";
import type { StreamEvent } from "./types.js";

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;

/** Every event after `after`, or from now on, in order, until the caller stops or `signal` aborts. */
export async function* streamEvents(
  transport: Transport,
  after: number | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamEvent, void, undefined> {
  let place = after;
  let wait = FIRST_PAUSE_MS;
  const end = new AbortController();
  const together = signal === undefined ? end.signal : AbortSignal.any([end.signal, signal]);
  try {
    while (!together.aborted) {
      try {
        const response = await transport.open(["events"], { after: place }, together);
        for await (const event of parseEvents(response)) {
          place = event.id;
          wait = FIRST_PAUSE_MS;
          yield event;
        }
      } catch (error) {
        if (together.aborted) return;
        if (!mayPass(error)) throw error;
      }
      await pause(wait, together).catch(() => undefined);
      wait = Math.min(wait * 2, LONGEST_PAUSE_MS);
    }
  } finally {
    end.abort();
  }
}

function mayPass(error: unknown): boolean {
  if (!(error instanceof MemorywireError)) return true; // the connection broke
  return error instanceof ConnectionLost || error instanceof Unavailable || error instanceof LimitExceeded;
}

async function* parseEvents(response: Response): AsyncGenerator<StreamEvent, void, undefined> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = parseBlock(block);
      if (event !== undefined) yield event;
    }
  }
}

function parseBlock(block: string): StreamEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const at = line.indexOf(": ");
    if (at > 0) fields.set(line.slice(0, at), line.slice(at + 2)); // a comment begins with the colon
  }
  const data = fields.get("data");
  return data === undefined ? undefined : { event: fields.get("event") ?? "message", ...JSON.parse(data) };
}
