import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Server } from "./server.js";

const PAGE = fileURLToPath(new URL("../../../docs/how-to/typescript.md", import.meta.url));
const PROGRAM = fileURLToPath(new URL("./page.made.ts", import.meta.url));
const server = new Server();

beforeAll(() => server.start());
afterAll(async () => {
  rmSync(PROGRAM, { force: true });
  await server.end();
});

test("the example of the page runs and prints what it says", async () => {
  const [, example] = /```ts\n(.*?)```/s.exec(readFileSync(PAGE, "utf8"))!;
  const program = example!.replace("memorywire-client", "../src/index.js").replace(/http:[^"]+/, server.url);
  writeFileSync(PROGRAM, program);
  const print = vi.spyOn(console, "log").mockImplementation(() => undefined);
  await import(/* @vite-ignore */ PROGRAM);
  expect(print.mock.calls).toEqual([["Ana prefers green tea to coffee"], [true]]);
});
