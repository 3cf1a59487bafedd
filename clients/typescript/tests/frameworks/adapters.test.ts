// The adapters on the real packages, whose models are the vendors' scripted ones, with a real server.
import { Agent, type ToolsInput } from "@mastra/core/agent";
import type { MastraModelConfig } from "@mastra/core/llm";
import { generateText, stepCountIs, wrapLanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run as runAi } from "../../examples/ai.js";
import { run as runMastra } from "../../examples/mastra.js";
import { INSTRUCTIONS, memoryMiddleware, memoryTools } from "../../src/ai.js";
import { Memory } from "../../src/index.js";
import { MemoryProcessor } from "../../src/mastra.js";
import { Server } from "../server.js";

const server = new Server();
const ALLERGY = "Ana is allergic to peanuts.";
const SNACKS = "Which snacks can I eat?";
const TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";

beforeAll(() => server.start());
afterAll(() => server.end());

const memoryOf = (agentId: string, userId = "ana"): Memory => new Memory({ url: server.url, agentId, userId });

type Part = { type: "text"; text: string } | { type: "tool-call"; toolCallId: string; toolName: string; input: string };

/** A model that gives these parts, one after the other. */
function scripted(...parts: Part[]): MockLanguageModelV4 {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  let step = 0;
  const next = (): Part => parts[Math.min(step++, parts.length - 1)]!;
  const reasonFor = (part: Part) =>
    ({ unified: part.type === "text" ? "stop" : "tool-calls", raw: undefined }) as const;
  return new MockLanguageModelV4({
    doGenerate: async () => {
      const part = next();
      return { content: [part], finishReason: reasonFor(part), usage, warnings: [] };
    },
  });
}

const call = (toolName: string, input: object): Part => ({
  type: "tool-call",
  toolCallId: `${toolName}-1`,
  toolName,
  input: JSON.stringify(input),
});
const said = (text: string): Part => ({ type: "text", text });
const systemOf = (model: MockLanguageModelV4, index = 0): string =>
  model.doGenerateCalls[index]!.prompt.flatMap((message) => (message.role === "system" ? [message.content] : [])).join(
    "\n\n",
  );

/** Mastra takes models and tools of this version, and describes them by stricter types than the AI SDK. */
const asMastra = (model: MockLanguageModelV4): MastraModelConfig => model as unknown as MastraModelConfig;

test("the AI SDK's model is shown the memories of its user", async () => {
  const memory = memoryOf("ai-showing");
  await memory.remember(ALLERGY);
  await memory.of("ben").remember("Ben is allergic to peanuts.");
  const scriptedModel = scripted(said("nuts are out"));
  const model = wrapLanguageModel({ model: scriptedModel, middleware: memoryMiddleware(memory) });
  const { text } = await generateText({ model, system: "Be brief.", prompt: SNACKS });
  expect(text).toBe("nuts are out");
  expect(systemOf(scriptedModel)).toContain("Be brief.");
  expect(systemOf(scriptedModel)).toContain(`- ${ALLERGY}`);
  expect(systemOf(scriptedModel)).not.toContain("Ben");
  await generateText({ model, prompt: "What is 17 times 23?" });
  expect(systemOf(scriptedModel, 1)).toBe("");
});

test("the AI SDK's model remembers, recalls and forgets with the tools", async () => {
  const memory = memoryOf("ai-calling");
  const model = scripted(
    call("remember", { content: ALLERGY }),
    call("recall", { question: "What is Ana allergic to?" }),
    said("peanuts"),
  );
  const run = await generateText({
    model,
    system: INSTRUCTIONS,
    prompt: "I am Ana.",
    tools: memoryTools(memory),
    stopWhen: stepCountIs(5),
  });
  expect(run.text).toBe("peanuts");
  const [kept] = (await memory.list()).items;
  expect(kept?.content).toBe(ALLERGY);
  expect(JSON.stringify(run.steps[1]?.toolResults)).toContain(ALLERGY);
  const forgetting = scripted(call("forget", { id: kept!.id }), said("forgotten"));
  await generateText({ model: forgetting, prompt: "Forget it.", tools: memoryTools(memory), stopWhen: stepCountIs(3) });
  expect((await memory.list()).items).toEqual([]);
});

test("a pasted token is not kept and ends no turn", async () => {
  const memory = memoryOf("ai-pasting");
  const model = scripted(call("remember", { content: `The token is ${TOKEN}` }), said("done"));
  const tools = memoryTools(memory);
  const { text } = await generateText({ model, prompt: "Keep it", tools, stopWhen: stepCountIs(3) });
  expect(text).toBe("done");
  expect(JSON.stringify((await memory.list()).items)).not.toContain(TOKEN);
});

test("a server that is away does not end the run", async () => {
  const away = new Memory({ url: "http://127.0.0.1:9", agentId: "away", retries: 0 });
  const scriptedModel = scripted(said("on my own"));
  const model = wrapLanguageModel({ model: scriptedModel, middleware: memoryMiddleware(away) });
  expect((await generateText({ model, prompt: SNACKS })).text).toBe("on my own");
  expect(systemOf(scriptedModel)).toContain("Memory could not be read");
});

test("a Mastra agent is shown the memories of its user, and has the tools", async () => {
  const memory = memoryOf("mastra");
  await memory.remember(ALLERGY);
  await memory.of("ben").remember("Ben is allergic to peanuts.");
  const model = scripted(call("remember", { content: "Ana likes figs." }), said("nuts are out"));
  const agent = new Agent({
    id: "waiter",
    name: "waiter",
    instructions: "Be brief.",
    model: asMastra(model),
    tools: memoryTools(memory) as unknown as ToolsInput,
    inputProcessors: [new MemoryProcessor(() => memory)],
  });
  const { text } = await agent.generate(SNACKS);
  expect(text).toBe("nuts are out");
  expect(systemOf(model)).toContain(`- ${ALLERGY}`);
  expect(systemOf(model)).not.toContain("Ben");
  expect((await memory.list()).items.map((item) => item.content)).toContain("Ana likes figs.");
});

test("a Mastra agent's turns are kept where that is asked for", async () => {
  const memory = memoryOf("mastra-turns");
  const processor = new MemoryProcessor(memory, { keepTurns: true });
  const agent = new Agent({
    id: "listener",
    name: "listener",
    instructions: "Be brief.",
    model: asMastra(scripted(said("Noted."))),
    inputProcessors: [processor],
    outputProcessors: [processor],
  });
  await agent.generate(`My cat is called Momo and my token is ${TOKEN}`);
  const kept = JSON.stringify((await memory.list()).items);
  expect(kept).toContain("Momo");
  expect(kept).toContain("Noted.");
  expect(kept).not.toContain(TOKEN);
});

test("the examples run", async () => {
  expect(await runAi(server.url)).toContain("Ana prefers green tea");
  const model = scripted(said("green tea"));
  expect(await runMastra(asMastra(model), server.url)).toBe("green tea");
  expect(systemOf(model)).toContain("Ana prefers green tea");
});
