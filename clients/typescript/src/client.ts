// The memory of one agent, and perhaps of one user, at a memorywire server.

import { NotFound } from "./errors.js";
import { streamEvents } from "./events.js";
import { Transport, type Connection } from "./transport.js";
import type {
  AnswerOf,
  KeyEntry,
  KeyKept,
  KeyListing,
  KeySearch,
  KeySearched,
  KeySet,
  LayerEvent,
  LayerFacts,
  LayerQuestion,
  RequestOf,
  StreamEvent,
  Turns,
  WireOperation,
} from "./types.js";

export interface Options extends Connection {
  /** Whose memory it is; `default` if it is left out. */
  agentId?: string;
  /** With a user, a call sees exactly this user; without one, all users of the agent. */
  userId?: string;
}

export interface CallOptions {
  signal?: AbortSignal;
}

type Without<N extends WireOperation, K extends string> = Omit<RequestOf<N>, K>;
type JsonValue = string | number | boolean | null | JsonValue[] | { [name: string]: JsonValue };

const READS = new Set<string>(
  (
    "recall context profile get list history changes capabilities proposals proposal why rules test_rule agents " +
    "facets recalls"
  ).split(" "),
);
const WITHOUT_AGENT = new Set<string>(["rules", "set_rules", "activate_rule", "revert_rule", "agents", "batch"]);
/** What looks at all agents unless one is named, so that this client's is not added. */
const OF_ALL_AGENTS = new Set<string>(["erase", "proposal", "decide", "why", "feedback"]);

export class Memory {
  readonly agentId: string;
  readonly userId: string | undefined;
  readonly #transport: Transport;
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
    this.#transport = new Transport(options);
    this.agentId = options.agentId ?? "default";
    this.userId = options.userId;
  }

  /** The same agent's memory of one user. */
  of(userId: string): Memory {
    return new Memory({ ...this.#options, userId });
  }

  /** Store a memory: a text, or a request with more fields. It may be repeated: its key makes it one write. */
  remember(
    memory: string | (Omit<Partial<RequestOf<"remember">>, "content"> & Pick<RequestOf<"remember">, "content">),
    options: CallOptions = {},
  ): Promise<AnswerOf<"remember">> {
    const request = typeof memory === "string" ? { content: memory } : memory;
    return this.#do("remember", { type: "semantic", idempotency_key: crypto.randomUUID(), ...request }, options);
  }

  /** What is known that helps with the query, best first. */
  recall(query: string, request: Without<"recall", "query"> & CallOptions = {}): Promise<AnswerOf<"recall">> {
    return this.#do("recall", { ...request, query });
  }

  /** What an agent should read before it answers the prompt, as one fenced block with its sources. */
  context(prompt?: string, request: Without<"context", "prompt"> & CallOptions = {}): Promise<AnswerOf<"context">> {
    return this.#do("context", prompt === undefined ? request : { ...request, prompt });
  }

  /** What is known about the user, by slot. */
  profile(request: RequestOf<"profile"> & CallOptions = {}): Promise<AnswerOf<"profile">> {
    return this.#do("profile", request);
  }

  /** One memory by its id, or undefined. */
  async get(id: string, request: Without<"get", "id"> & CallOptions = {}): Promise<AnswerOf<"get"> | undefined> {
    try {
      return await this.#do("get", { ...request, id });
    } catch (error) {
      if (error instanceof NotFound) return undefined;
      throw error;
    }
  }

  /** One page of the memories. */
  list(request: RequestOf<"list"> & CallOptions = {}): Promise<AnswerOf<"list">> {
    return this.#do("list", request);
  }

  /** Every memory, page after page. */
  async *all(request: RequestOf<"list"> & CallOptions = {}): AsyncGenerator<AnswerOf<"list">["items"][number]> {
    let after = request.after;
    do {
      const page = await this.list(after === undefined ? request : { ...request, after });
      yield* page.items;
      after = page.next;
    } while (after !== undefined);
  }

  forget(request: RequestOf<"forget"> & CallOptions): Promise<AnswerOf<"forget">> {
    return this.#do("forget", request);
  }

  merge(request: RequestOf<"merge"> & CallOptions): Promise<AnswerOf<"merge">> {
    return this.#do("merge", request);
  }

  expire(request: RequestOf<"expire"> & CallOptions): Promise<AnswerOf<"expire">> {
    return this.#do("expire", request);
  }

  /** Every version of a memory. */
  history(id: string, request: Without<"history", "id"> & CallOptions = {}): Promise<AnswerOf<"history">> {
    return this.#do("history", { ...request, id });
  }

  changes(request: RequestOf<"changes"> & CallOptions = {}): Promise<AnswerOf<"changes">> {
    return this.#do("changes", request);
  }

  undo(changeId: string, request: Without<"undo", "change_id"> & CallOptions = {}): Promise<AnswerOf<"undo">> {
    return this.#do("undo", { ...request, change_id: changeId });
  }

  /** Let another agent recall memories of this one: those of these ids, types and tags. */
  share(request: RequestOf<"share"> & CallOptions): Promise<AnswerOf<"share">> {
    return this.#do("share", request);
  }

  /** Revoke a grant at once. */
  unshare(shareId: string, request: Without<"unshare", "share_id"> & CallOptions = {}): Promise<AnswerOf<"unshare">> {
    return this.#do("unshare", { ...request, share_id: shareId });
  }

  /** The grants in force that the agent gave, and those that it was given. */
  shares(request: RequestOf<"shares"> & CallOptions = {}): Promise<AnswerOf<"shares">> {
    return this.#do("shares", request);
  }

  /** Delete everything of a person, of all agents unless one is named. */
  erase(userId: string, request: Without<"erase", "user_id"> & CallOptions = {}): Promise<AnswerOf<"erase">> {
    return this.#do("erase", { ...request, user_id: userId });
  }

  capabilities(request: RequestOf<"capabilities"> & CallOptions = {}): Promise<AnswerOf<"capabilities">> {
    return this.#do("capabilities", request);
  }

  proposals(request: RequestOf<"proposals"> & CallOptions = {}): Promise<AnswerOf<"proposals">> {
    return this.#do("proposals", request);
  }

  proposal(id: string, options: CallOptions = {}): Promise<AnswerOf<"proposal">> {
    return this.#do("proposal", { proposal_id: id }, options);
  }

  decide(request: RequestOf<"decide"> & CallOptions): Promise<AnswerOf<"decide">> {
    return this.#do("decide", request);
  }

  /** Why a recall gave what it gave. */
  why(recallId: string, options: CallOptions = {}): Promise<AnswerOf<"why">> {
    return this.#do("why", { recall_id: recallId }, options);
  }

  recalls(request: RequestOf<"recalls"> & CallOptions = {}): Promise<AnswerOf<"recalls">> {
    return this.#do("recalls", request);
  }

  feedback(request: RequestOf<"feedback"> & CallOptions): Promise<AnswerOf<"feedback">> {
    return this.#do("feedback", request);
  }

  agents(options: CallOptions = {}): Promise<AnswerOf<"agents">> {
    return this.#do("agents", {}, options);
  }

  facets(request: RequestOf<"facets"> & CallOptions = {}): Promise<AnswerOf<"facets">> {
    return this.#do("facets", request);
  }

  rules(options: CallOptions = {}): Promise<AnswerOf<"rules">> {
    return this.#do("rules", {}, options);
  }

  setRules(request: RequestOf<"set_rules"> & CallOptions): Promise<AnswerOf<"set_rules">> {
    return this.#do("set_rules", request);
  }

  testRule(request: RequestOf<"test_rule"> & CallOptions): Promise<AnswerOf<"test_rule">> {
    return this.#do("test_rule", request);
  }

  activateRule(name: string, options: CallOptions = {}): Promise<AnswerOf<"activate_rule">> {
    return this.#do("activate_rule", { name }, options);
  }

  revertRule(name: string, options: CallOptions = {}): Promise<AnswerOf<"revert_rule">> {
    return this.#do("revert_rule", { name }, options);
  }

  /** Consolidate the memories of the agent; takes the right to manage. */
  dream(request: RequestOf<"dream"> & CallOptions = {}): Promise<AnswerOf<"dream">> {
    return this.#do("dream", request);
  }

  /** Several operations in one request; each has its answer or its problem. */
  batch(items: RequestOf<"batch">["items"], options: CallOptions = {}): Promise<AnswerOf<"batch">> {
    return this.#do("batch", { items }, options);
  }

  /** Any operation with exactly this payload: nothing is added, and only what reads is repeated. */
  call<N extends WireOperation>(operation: N, payload: object, options: CallOptions = {}): Promise<AnswerOf<N>> {
    const repeatable = READS.has(operation) || "idempotency_key" in payload;
    const sending = { body: payload, repeatable, ...options };
    return this.#transport.ask("POST", [operation], sending) as Promise<AnswerOf<N>>;
  }

  /** What is committed, held and decided, as it happens; taken up again when the connection breaks. */
  events(options: { after?: number; signal?: AbortSignal } = {}): AsyncGenerator<StreamEvent, void, undefined> {
    return streamEvents(this.#transport, options.after, options.signal);
  }

  /** Key-value entries: of the agent, or of another owner. */
  keys(scope: "agent" | "user" | "tenant" = "agent", id: string = this.agentId): Keys {
    return new Keys(this.#transport, scope, id);
  }

  /** Conversations whose facts the server reads. */
  get layer(): Layer {
    return new Layer(this.#transport, this.#owner());
  }

  #do<N extends WireOperation>(operation: N, request: object, options: CallOptions = {}): Promise<AnswerOf<N>> {
    const { signal, ...payload } = { ...options, ...request };
    const owner = WITHOUT_AGENT.has(operation) || OF_ALL_AGENTS.has(operation) ? {} : this.#owner();
    return this.call(operation, { ...owner, ...payload }, signal === undefined ? {} : { signal });
  }

  #owner(): { agent_id: string; user_id?: string } {
    return this.userId === undefined
      ? { agent_id: this.agentId }
      : { agent_id: this.agentId, user_id: this.userId };
  }
}

/** The key-value entries of one owner. */
export class Keys {
  readonly #transport: Transport;
  readonly #owner: readonly [string, string];

  constructor(transport: Transport, scope: string, id: string) {
    this.#transport = transport;
    this.#owner = [scope, id];
  }

  /** The entry, or undefined. */
  async get(key: string, options: CallOptions = {}): Promise<KeyEntry | undefined> {
    try {
      return await this.#ask<KeyEntry>("GET", "kv", [key], { repeatable: true, ...options });
    } catch (error) {
      if (error instanceof NotFound) return undefined;
      throw error;
    }
  }

  set(key: string, value: JsonValue, more: Omit<KeySet, "value"> & CallOptions = {}): Promise<KeyKept> {
    const { signal, ...rest } = more;
    const body = { ...rest, value };
    return this.#ask("PUT", "kv", [key], { body, repeatable: false, ...(signal === undefined ? {} : { signal }) });
  }

  increment(key: string, by = 1, options: CallOptions = {}): Promise<KeyKept> {
    return this.#ask("POST", "kv", [key], { body: { by }, repeatable: false, ...options });
  }

  delete(key: string, options: CallOptions = {}): Promise<unknown> {
    return this.#ask("DELETE", "kv", [key], { repeatable: true, ...options });
  }

  list(query: { prefix?: string; after?: string; limit?: number } = {}, options: CallOptions = {}): Promise<KeyListing> {
    return this.#ask("GET", "kv", [], { query, repeatable: true, ...options });
  }

  search(query: string, request: Omit<KeySearch, "query"> = {}, options: CallOptions = {}): Promise<KeySearched> {
    return this.#ask("POST", "kv-search", [], { body: { ...request, query }, repeatable: true, ...options });
  }

  #ask<A>(
    method: string,
    area: string,
    key: readonly string[],
    sending: Parameters<Transport["ask"]>[2],
  ): Promise<A> {
    return this.#transport.ask(method, [area, ...this.#owner, ...key], sending) as Promise<A>;
  }
}

/** Turns of a conversation in, facts out. */
export class Layer {
  readonly #transport: Transport;
  readonly #owner: { agent_id: string; user_id?: string };

  constructor(transport: Transport, owner: { agent_id: string; user_id?: string }) {
    this.#transport = transport;
    this.#owner = owner;
  }

  add(messages: Turns["messages"], more: Omit<Turns, "messages"> = {}, options: CallOptions = {}): Promise<LayerEvent> {
    const body = { ...this.#owner, ...more, messages };
    return this.#ask("POST", ["add"], { body, repeatable: false, ...options });
  }

  /** How far an addition is. */
  event(id: string, options: CallOptions = {}): Promise<LayerEvent> {
    return this.#ask("GET", ["events", id], { query: this.#owner, repeatable: true, ...options });
  }

  recall(query: string, more: Omit<LayerQuestion, "query"> = {}, options: CallOptions = {}): Promise<LayerFacts> {
    return this.#ask("POST", ["recall"], { body: { ...this.#owner, ...more, query }, repeatable: true, ...options });
  }

  #ask<A>(method: string, path: readonly string[], sending: Parameters<Transport["ask"]>[2]): Promise<A> {
    return this.#transport.ask(method, ["layer", ...path], sending) as Promise<A>;
  }
}
