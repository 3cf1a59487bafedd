// Memory for a Mastra agent: an input processor that shows it what bears on the prompt. As its tools it takes
// those of `memorywire-client/ai`.

import type { MastraDBMessage } from "@mastra/core/agent";
import type { ProcessInputArgs, ProcessInputResult, Processor } from "@mastra/core/processors";
import type { RequestContext } from "@mastra/core/request-context";
import type { Memory } from "./client.js";
import { buildContext, CONTEXT_TOKENS, type Turn } from "./prompting.js";

export interface ProcessorOptions {
  /** Tokens that the memories cost at most; 512 unless it is told otherwise. */
  budget?: number;
  /** With `true`, the user's and the agent's texts are kept as turns of a conversation. */
  keepTurns?: boolean;
}

/** For `new Agent({ inputProcessors: [...] })`, and with `keepTurns` for `outputProcessors` as well. */
export class MemoryProcessor implements Processor<"memorywire"> {
  readonly id = "memorywire";
  readonly #memory: Memory | ((context: RequestContext | undefined) => Memory);
  readonly #options: ProcessorOptions;

  /** A function chooses the memory of each request, such as that of its user. */
  constructor(
    memory: Memory | ((context: RequestContext | undefined) => Memory),
    options: ProcessorOptions = {},
  ) {
    this.#memory = memory;
    this.#options = options;
  }

  /** Adds a system message with the memories that a good answer depends on. */
  async processInput(args: ProcessInputArgs): Promise<ProcessInputResult> {
    const { messages, systemMessages } = args;
    const memory = this.#choose(args.requestContext);
    const block = await buildContext(memory, readTurns(messages), this.#options.budget ?? CONTEXT_TOKENS);
    if (block === "") return messages;
    return { messages, systemMessages: [...systemMessages, { role: "system", content: block }] };
  }

  /** Keeps the turns of the run, if it was told to. */
  async processOutputResult(args: {
    messages: MastraDBMessage[];
    messageList: { get: { all: { db: () => MastraDBMessage[] } } };
    requestContext?: RequestContext;
  }): Promise<MastraDBMessage[]> {
    if (this.#options.keepTurns === true) {
      const turns = readTurns(args.messageList.get.all.db()).slice(-2);
      if (turns.length > 0) await this.#choose(args.requestContext).layer.add(turns);
    }
    return args.messages;
  }

  #choose(context: RequestContext | undefined): Memory {
    return typeof this.#memory === "function" ? this.#memory(context) : this.#memory;
  }
}

function readTurns(messages: readonly MastraDBMessage[]): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    if (message.role !== "user" && message.role !== "assistant") continue;
    const texts = message.content.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
    turns.push({ role: message.role, content: texts.join("\n") });
  }
  return turns;
}
