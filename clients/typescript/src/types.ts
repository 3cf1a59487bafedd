// Names for the types that scripts/generate.mjs writes; `$defs` is where a schema keeps its parts.

import type { components } from "./wire.js";

type Schemas = components["schemas"];
type Plain<T> = T extends object ? Omit<T, "$defs"> : T;

/** What the client adds by itself, so that a call may leave it out. */
type Given = "agent_id";
type Open<T> = Omit<T, Given | "$defs"> & Partial<Pick<T, Given & keyof T>>;

/** The operations of the wire format: each is a `POST /v0/NAME`. */
export type Operation = {
  [K in keyof Schemas]: K extends `${infer N}.request` ? (`${N}.response` extends keyof Schemas ? N : never) : never;
}[keyof Schemas];

type WireOperation = Exclude<Operation, `kv_${string}` | `layer_${string}` | `backend_${string}` | "trigger">;
export type RequestOf<N extends WireOperation> = Open<Schemas[`${N}.request`]>;
export type AnswerOf<N extends WireOperation> = Plain<Schemas[`${N}.response`]>;
export type { WireOperation };

export type MemoryRecord = Plain<Schemas["record"]>;
export type RememberRequest = RequestOf<"remember">;
export type Remembered = AnswerOf<"remember">;
export type RecallRequest = RequestOf<"recall">;
export type Recalled = AnswerOf<"recall">;
export type Hit = Recalled["results"][number];
export type ContextRequest = RequestOf<"context">;
export type Context = AnswerOf<"context">;
export type ListRequest = RequestOf<"list">;
export type Page = AnswerOf<"list">;

export type KeyEntry = Plain<Schemas["kv_get.response"]>;
export type KeyKept = Plain<Schemas["kv_set.response"]>;
export type KeySet = Plain<Schemas["kv_set.request"]>;
export type KeyListing = Plain<Schemas["kv_list.response"]>;
export type KeySearch = Plain<Schemas["kv_search.request"]>;
export type KeySearched = Plain<Schemas["kv_search.response"]>;

export type Turns = Open<Schemas["layer_add.request"]>;
export type LayerEvent = Plain<Schemas["layer_event.response"]>;
export type LayerQuestion = Open<Schemas["layer_recall.request"]>;
export type LayerFacts = Plain<Schemas["layer_recall.response"]>;

/** One event of the stream: what was committed, held or decided, without content. */
export interface StreamEvent {
  id: number;
  event: string;
  operation: string;
  subject: string;
  memories: string[];
  agent_id: string;
  user_id?: string;
  [name: string]: unknown;
}
