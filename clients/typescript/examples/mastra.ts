// A Mastra agent with memory. The model is a scripted one that needs no key; use a real one instead.
import { Agent } from "@mastra/core/agent";
import type { MastraModelConfig } from "@mastra/core/llm";
import { Memory } from "../src/index.js"; // in your program: "memorywire-client"
import { MemoryProcessor } from "../src/mastra.js"; // in your program: "memorywire-client/mastra"

export async function run(model: MastraModelConfig, url = "http://127.0.0.1:8377"): Promise<string> {
  const memory = new Memory({ url, agentId: "waiter", userId: "ana" });
  await memory.remember("Ana prefers green tea to coffee.");
  const agent = new Agent({
    id: "waiter",
    name: "waiter",
    instructions: "Be brief.",
    model,
    inputProcessors: [new MemoryProcessor(memory)],
  });
  return (await agent.generate("What does Ana drink?")).text;
}
