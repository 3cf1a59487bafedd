import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ConnectionLost, InvalidRequest, LimitExceeded, Memory, NotFound } from "../src/index.js";
import { Server } from "./server.js";

const server = new Server();

beforeAll(() => server.start());
afterAll(() => server.end());

const memoryOf = (agentId: string, userId?: string): Memory =>
  new Memory({ url: server.url, agentId, ...(userId === undefined ? {} : { userId }) });

/** A stand between the client and the world that answers as the test says, and counts. */
async function standingBetween(listener: RequestListener): Promise<{ url: string; close: () => void }> {
  const stand = createServer(listener);
  await new Promise<void>((resolve) => stand.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(stand.address() as AddressInfo).port}`, close: () => stand.close() };
}

test("what is remembered is recalled, with its id and its score", async () => {
  const memory = memoryOf("recalling");
  const receipt = await memory.remember("Ana prefers green tea");
  const [hit] = (await memory.recall("What does Ana like to drink?")).results;
  expect([hit?.id, hit?.content]).toEqual([receipt.id, "Ana prefers green tea"]);
  expect(hit?.score).toBeGreaterThan(0);
});

test("a client of one user sees this user's memories alone", async () => {
  const ana = memoryOf("sharing", "ana");
  await ana.remember("The meeting is on Monday");
  await ana.of("ben").remember("The meeting is on Friday");
  expect((await ana.list()).items.map((item) => item.content)).toEqual(["The meeting is on Monday"]);
});

test("the context block has what helps with the prompt", async () => {
  const memory = memoryOf("prompting", "ana");
  await memory.remember({ content: "Ana is allergic to peanuts.", kind: "constraint" });
  const context = await memory.context("What shall I cook for Ana?");
  expect(context.text).toContain("peanuts");
});

test("all pages are read one after the other", async () => {
  const memory = memoryOf("paging");
  const texts = ["red", "green", "blue"].map((colour) => `The bicycle number is ${colour}`);
  for (const text of texts) await memory.remember(text);
  const read: unknown[] = [];
  for await (const item of memory.all({ limit: 1 })) read.push(item.content);
  expect(read.sort()).toEqual(texts.sort());
});

test("an undo takes a change back", async () => {
  const memory = memoryOf("undoing");
  const receipt = await memory.remember("The code is 4711");
  await memory.undo(receipt.change_id!);
  expect(await memory.get(receipt.id)).toBeUndefined();
});

test("a key holds any JSON value and tells its version", async () => {
  const keys = memoryOf("keeping").keys();
  const kept = await keys.set("plan", { steps: ["a", "b"] });
  expect((await keys.get("plan"))?.value).toEqual({ steps: ["a", "b"] });
  expect(kept.version).toBe(1);
  expect(await keys.get("nothing")).toBeUndefined();
  expect((await keys.list({ prefix: "p" })).entries.map((entry) => entry.key)).toEqual(["plan"]);
  await keys.delete("plan");
  expect(await keys.get("plan")).toBeUndefined();
});

test("a problem is an error of its class, with the field and what to do", async () => {
  const wrong = memoryOf("failing").call("recall", { agent_id: "failing", query: " ", k: 0 });
  await expect(wrong).rejects.toBeInstanceOf(InvalidRequest);
  await expect(wrong).rejects.toMatchObject({ code: "validation_error", status: 422 });
  await expect(memoryOf("failing").history("nobody")).rejects.toBeInstanceOf(NotFound);
});

test("a write whose answer was lost is sent again and done once", async () => {
  let count = 0;
  const stand = await standingBetween(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch(`${server.url}${request.url}`, { method: "POST", headers, body });
    count += 1;
    if (count === 1) return void request.socket.destroy();
    response.writeHead(answer.status, headers).end(await answer.text());
  });
  const receipt = await new Memory({ url: stand.url, agentId: "losing" }).remember("Sent twice, stored once");
  stand.close();
  const changes = await memoryOf("losing").changes();
  expect([count, receipt.status, changes.changes.length]).toEqual([2, "committed", 1]);
});

test("a write without a key is not sent again when its answer is lost", async () => {
  let count = 0;
  const stand = await standingBetween((request) => {
    count += 1;
    request.socket.destroy();
  });
  const memory = new Memory({ url: stand.url });
  await expect(memory.forget({ ids: ["a"] })).rejects.toBeInstanceOf(ConnectionLost);
  stand.close();
  expect(count).toBe(1);
});

test("a server that is too busy is asked again when it says so, and not for ever", async () => {
  let count = 0;
  const stand = await standingBetween((_, response) => {
    count += 1;
    const headers = { "Content-Type": "application/problem+json", "Retry-After": "0" };
    response.writeHead(429, headers).end(JSON.stringify({ code: "rate_limited", detail: "too many" }));
  });
  const memory = new Memory({ url: stand.url, retries: 3 });
  await expect(memory.forget({ ids: ["a"] })).rejects.toBeInstanceOf(LimitExceeded);
  stand.close();
  expect(count).toBe(4);
});

test("a request ends when its signal aborts, and when its time is over", async () => {
  const stand = await standingBetween(() => undefined);
  const memory = new Memory({ url: stand.url, timeoutMs: 100, retries: 0 });
  await expect(memory.recall("anything")).rejects.toThrow("within 100 ms");
  await expect(memory.recall("anything", { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
  stand.close();
});

test("the stream of events goes on behind a restart of the server", async () => {
  const memory = memoryOf("streaming");
  const first = await memory.remember("Before the restart");
  const events = memory.events({ after: 0 });
  const subjects: unknown[] = [];
  const wait = async (subject: unknown): Promise<void> => {
    for (;;) {
      const event = (await events.next()).value!;
      subjects.push(event.subject);
      if (event.subject === subject) return;
    }
  };
  await wait(first.change_id);
  const port = Number(new URL(server.url).port);
  await server.stop();
  await server.start(port);
  const second = await memory.remember("After the restart");
  await wait(second.change_id);
  await events.return();
  expect(new Set(subjects).size).toBe(subjects.length);
});
