// A model of the AI SDK with memory. The model is a scripted one that needs no key; use a real one instead.
import { generateText, wrapLanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { memoryMiddleware, memoryTools } from "../src/ai.js"; // in your program: "memorywire-client/ai"
import { Memory } from "../src/index.js"; // in your program: "memorywire-client"

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};
/** Answers with the system messages of its input. */
const showing = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => ({
    content: prompt.flatMap((one) => (one.role === "system" ? [{ type: "text" as const, text: one.content }] : [])),
    finishReason: { unified: "stop", raw: undefined },
    usage,
    warnings: [],
  }),
});

export async function run(url = "http://127.0.0.1:8377"): Promise<string> {
  const memory = new Memory({ url, agentId: "assistant", userId: "ana" });
  await memory.remember("Ana prefers green tea to coffee.");
  const model = wrapLanguageModel({ model: showing, middleware: memoryMiddleware(memory) });
  const { text } = await generateText({ model, tools: memoryTools(memory), prompt: "What does Ana drink?" });
  return text;
}
