// Written by scripts/generate.mjs from the server's OpenAPI document: do not edit.

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * Activate rule
         * @description Put a suggested rule in force.
         */
        "activate_rule.request": {
            /**
             * Name
             * @description The suggestion.
             */
            name: components["schemas"]["common"]["$defs"]["rule_name"];
        };
        /**
         * Rule book
         * @description The policy in force from now on.
         */
        "activate_rule.response": components["schemas"]["rules.response"];
        /**
         * Agents
         * @description List the agents that have memories or pending changes.
         */
        "agents.request": Record<string, never>;
        /**
         * Agent list
         * @description The agents, ordered by name.
         */
        "agents.response": {
            /**
             * Items
             * @description One entry per agent.
             */
            items: {
                /**
                 * Agent
                 * @description The agent.
                 */
                agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
                /**
                 * Memories
                 * @description The number of its current memories.
                 */
                memories: number;
                /**
                 * Waiting
                 * @description The number of its pending changes.
                 */
                waiting: number;
            }[];
        };
        /**
         * Archived
         * @description What one round wrote.
         */
        "audit_archive.response": {
            /** @description All entries of the archive. */
            entries: number;
            /** @description The name of the ledger; null while it is empty. */
            origin: string | null;
            /** @description Files or objects with entries. */
            segments: number;
            /** @description New entries. */
            written: number;
        };
        /**
         * Checkpoint
         * @description A signed checkpoint of the ledger. Keep it where the owner of the database cannot write.
         */
        "audit_checkpoint.response": {
            checkpoint: string;
            key: string;
        };
        /**
         * Proof
         * @description An export of one entry: `memorywire audit verify --export` checks it, with nothing else at hand.
         */
        "audit_proof.response": {
            /** @description The lines of the file. */
            lines: string[];
        };
        /**
         * Verdict
         * @description Whether the ledger is as it was written.
         */
        "audit_verify.response": {
            checkpoints: number;
            entries: number;
            /** @description How many are not signed yet. */
            exposed: number;
            fault?: {
                entry?: number | null;
                reason: string;
                /** @description The first wrong one lies from `entry` to here. */
                until?: number;
            };
            /** @description The public key that the proof rests on. */
            key?: string;
            ok: boolean;
            /** @description The name of the ledger. */
            origin?: string;
            root: string;
            /** @description How many entries are signed. */
            sealed: number;
            /** @description What the comparison of the state with the ledger found, if it was asked for. */
            state?: {
                differences: {
                    detail: string;
                    kind: string;
                    subject: string;
                }[];
                ok: boolean;
                /** @description How many other rows were compared. */
                rows: number;
                /** @description How many versions of memories were compared. */
                versions: number;
            };
            /** @description How many checkpoints beside it cannot be read. */
            unreadable?: number;
        };
        /**
         * Entries
         * @description Entries of the ledger, newest first; go on with `before` = `next`.
         */
        "audit.response": {
            entries: {
                actor: string;
                agent_id: string;
                at: number;
                commitments?: Record<string, never>[];
                details?: Record<string, never>;
                kind: string;
                operation: string;
                /** @description The mark of the user; it stays when the user is erased. */
                person?: string;
                seq: number;
                /** @description Digests of rows it changed. */
                state?: unknown[][];
                subject?: string;
                user_id?: string;
            }[];
            next?: number;
        };
        /**
         * Bind
         * @description The backend that is to keep the agent's memories.
         */
        "backend_bind.request": {
            /** @description A digest, or a name: its newest edition. */
            definition: string;
        };
        /**
         * Edition
         * @description A definition as it was made.
         */
        "backend_bind.response": components["schemas"]["backend_get.response"];
        /**
         * Definition
         * @description A definition of a backend.
         */
        "backend_create.request": {
            /** @description What it is for. */
            description?: string;
            /**
             * @description Whether what an agent had here answers while the backend does not.
             * @default false
             */
            fallback?: boolean;
            /**
             * @description How often it is asked how it is; 0 for never.
             * @default 0
             */
            health_seconds?: number;
            /** @description The name of the variable with the key. */
            key_env?: string;
            /** @description What it is called. */
            name: string;
            /**
             * @description Whether to allow an adapter whose contract was not verified.
             * @default false
             */
            preview?: boolean;
            /**
             * Tenancy
             * @description How tenants are told apart there.
             */
            tenancy: {
                /** @enum {unknown} */
                kind: "key_per_tenant" | "shared_key_with_prefix";
                /** @description The variable of a tenant's key, or the prefix of its agents, with {tenant_id} in it. */
                pattern: string;
            };
            /** @description The URL of a store, {key} where the key belongs. */
            url: string;
        };
        /**
         * Edition
         * @description A definition as it was made.
         */
        "backend_create.response": components["schemas"]["backend_get.response"];
        /**
         * Fork
         * @description What is different from the definition that is forked.
         */
        "backend_fork.request": {
            /** @description What it is for. */
            description?: string;
            /**
             * @description Whether what an agent had here answers while the backend does not.
             * @default false
             */
            fallback?: boolean;
            /**
             * @description How often it is asked how it is; 0 for never.
             * @default 0
             */
            health_seconds?: number;
            /** @description The name of the variable with the key. */
            key_env?: string;
            /** @description What it is called. */
            name?: string;
            /**
             * @description Whether to allow an adapter whose contract was not verified.
             * @default false
             */
            preview?: boolean;
            /**
             * Tenancy
             * @description How tenants are told apart there.
             */
            tenancy?: {
                /** @enum {unknown} */
                kind: "key_per_tenant" | "shared_key_with_prefix";
                /** @description The variable of a tenant's key, or the prefix of its agents, with {tenant_id} in it. */
                pattern: string;
            };
            /** @description The URL of a store, {key} where the key belongs. */
            url?: string;
        };
        /**
         * Edition
         * @description A definition as it was made.
         */
        "backend_fork.response": components["schemas"]["backend_get.response"];
        /**
         * Edition
         * @description A definition as it was made.
         */
        "backend_get.response": {
            agents: string[];
            definition: Record<string, never>;
            digest: string;
            edition: number;
            /** @description How it was when it was last asked; not there before that. */
            healthy?: boolean;
            made_at: components["schemas"]["common"]["$defs"]["moment"];
            made_by: string;
            parent?: string;
            retired_at?: components["schemas"]["common"]["$defs"]["moment"];
            /** @description What receipts and debts call it. */
            store?: string;
        };
        /**
         * Definitions
         * @description Every edition of every definition.
         */
        "backend_list.response": {
            definitions: components["schemas"]["backend_get.response"][];
        };
        /**
         * Retire
         * @description Let no agent be bound to it any more.
         */
        "backend_retire.request": Record<string, never>;
        /**
         * Edition
         * @description A definition as it was made.
         */
        "backend_retire.response": components["schemas"]["backend_get.response"];
        /**
         * Unbound
         * @description The agent whose memories are kept here again.
         */
        "backend_unbind.response": {
            agent_id: string;
        };
        /**
         * Batch
         * @description Operations that are carried out one after the other; a problem of one does not stop the next.
         */
        "batch.request": {
            items: {
                /** @description A verb of the wire. */
                operation: string;
                /** @description Its request. */
                payload: Record<string, never>;
            }[];
        };
        /**
         * Batch receipts
         * @description One receipt or problem for each item, in their order.
         */
        "batch.response": {
            items: {
                answer?: Record<string, never>;
                problem?: components["schemas"]["problem"];
                /** @description The status that the item alone would have had. */
                status: number;
            }[];
        };
        /**
         * Capabilities
         * @description The configured features; a request for others fails with capability_unsupported or is listed in degraded.
         */
        capabilities: {
            /**
             * Contracts
             * @description The other contracts that are served: key-value entries, their search and statistics, conversations.
             */
            contracts?: {
                /**
                 * Keys and values
                 * @description Key-value entries are available.
                 */
                kv: boolean;
                /**
                 * Message layer
                 * @description Facts are extracted from conversations.
                 */
                memory_layer: boolean;
                /**
                 * Statistics
                 * @description Entries are counted by embedding model.
                 */
                stats: boolean;
                /**
                 * Search
                 * @description Entries can be searched by meaning.
                 */
                vector_search: boolean;
            };
            /**
             * Embedding space
             * @description The embedding space; two vectors can be compared only if all of it is equal.
             */
            embedding: {
                /**
                 * Dimension
                 * @description The dimension of a vector.
                 */
                dimension: number;
                /**
                 * Model
                 * @description The embedding model.
                 */
                model: string;
                /**
                 * Normalised
                 * @description Whether vectors have unit length.
                 */
                normalised: boolean;
                /**
                 * Revision
                 * @description The revision of its weights.
                 */
                revision: string;
            };
            /**
             * Features
             * @description The features that every configured store has.
             */
            features: components["schemas"]["common"]["$defs"]["feature"][];
            /**
             * Limits
             * @description The limits in effect.
             */
            limits: {
                /**
                 * Content
                 * @description Maximum characters of content.
                 */
                content_max: number;
                /**
                 * Depth
                 * @description Maximum nesting of JSON in a request.
                 */
                depth_max: number;
                /**
                 * Identities
                 * @description Maximum ids in one request.
                 */
                ids_max: number;
                /**
                 * Results
                 * @description Maximum results of a recall.
                 */
                k_max: number;
                /**
                 * Metadata
                 * @description Maximum bytes of the metadata of a memory, as JSON in UTF-8 without spaces.
                 */
                metadata_bytes_max: number;
                /**
                 * Payload
                 * @description Maximum bytes of a request.
                 */
                payload_bytes_max: number;
            };
            /**
             * OpenWOP
             * @description What an OpenWOP host with this configuration provides, in the terms of that contract.
             */
            openwop?: {
                /**
                 * Agents
                 * @description The `agents` family.
                 */
                agents: {
                    /**
                     * Backends
                     * @description Memory that outlives a run.
                     */
                    memoryBackends: "long-term"[];
                    /**
                     * Consolidation
                     * @description Whether equal entries are merged; absent if not.
                     */
                    memoryConsolidation?: {
                        /**
                         * Schedule
                         * @description When it happens.
                         * @enum {unknown}
                         */
                        schedule: "host-managed" | "scheduled" | "on-demand";
                        /**
                         * Supported
                         * @description Whether it is available.
                         */
                        supported: boolean;
                    };
                    /**
                     * Supported
                     * @description Whether a host is possible.
                     */
                    supported: boolean;
                };
                /**
                 * Dimensions
                 * @description The dimensions of RFC 0080 that are provided, in its order; an agent that needs another one is degraded.
                 */
                dimensions: ("read" | "write" | "search" | "long-term" | "compaction" | "attribution" | "replay-snapshot" | "retention")[];
                /**
                 * Memory
                 * @description The `memory` family; `writable` is false if the host has no runs, because only runs can put.
                 */
                memory: {
                    /**
                     * Attribution
                     * @description Whether the author is reported; absent if not.
                     */
                    attribution?: {
                        /**
                         * Events
                         * @description Whether each write of a run is an event.
                         */
                        emitsWriteEvents: boolean;
                        /**
                         * Supported
                         * @description Whether it is available.
                         * @constant
                         */
                        supported: true;
                    };
                    /**
                     * Compaction
                     * @description Whether entries can be compacted into one.
                     */
                    compaction?: {
                        /**
                         * Most entries
                         * @description The number of entries that are combined.
                         */
                        maxInputEntries?: number;
                        /**
                         * Most bytes
                         * @description Maximum bytes of the result.
                         */
                        maxOutputBytes?: number;
                        /**
                         * Supported
                         * @description Whether it is available.
                         */
                        supported: boolean;
                        /**
                         * Trigger
                         * @description What starts it.
                         * @enum {unknown}
                         */
                        trigger?: "host-managed" | "client-requested" | "both";
                    };
                    /**
                     * Largest entry
                     * @description Maximum bytes of an entry.
                     */
                    maxEntrySizeBytes?: number;
                    /**
                     * Retention
                     * @description How entries are removed.
                     */
                    retention?: {
                        /**
                         * Forgotten
                         * @description Whether all data of a subject can be erased.
                         */
                        forget: boolean;
                        /**
                         * By time
                         * @description Whether entries expire.
                         */
                        ttl: boolean;
                    };
                    /**
                     * Search
                     * @description How entries are found.
                     */
                    search?: {
                        /**
                         * Modes
                         * @description The search methods.
                         */
                        modes: ("semantic" | "filter")[];
                        /**
                         * Supported
                         * @description Whether it is available.
                         */
                        supported: boolean;
                    };
                    /**
                     * Supported
                     * @description Whether a host is possible.
                     */
                    supported: boolean;
                    /**
                     * Ends
                     * @description Whether an entry can expire.
                     */
                    ttlSupported?: boolean;
                    /**
                     * Writable
                     * @description Whether entries can be put.
                     */
                    writable: boolean;
                };
                /**
                 * Served
                 * @description Whether such a host is enabled.
                 */
                served: boolean;
            };
            /**
             * Operations
             * @description The operations that are served.
             */
            operations: components["schemas"]["common"]["$defs"]["operation"][];
            /**
             * Spec
             * @description The version of this wire format.
             * @constant
             */
            spec: "v0";
            /**
             * Stores
             * @description The configured stores with their features.
             */
            stores: {
                /**
                 * Features
                 * @description The features of this store.
                 */
                features: components["schemas"]["common"]["$defs"]["feature"][];
                /**
                 * Name
                 * @description The store's name.
                 */
                name: string;
                /**
                 * Memory types
                 * @description The memory types that this store keeps.
                 */
                types: components["schemas"]["common"]["$defs"]["type"][];
            }[];
            /**
             * Memory types
             * @description The supported memory types.
             */
            types: components["schemas"]["common"]["$defs"]["type"][];
        };
        /**
         * Capabilities
         * @description Read the configured features.
         */
        "capabilities.request": {
            /**
             * Agent
             * @description The agent whose memory this is.
             */
            agent_id?: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * User
             * @description Exactly this user's memories; without it, all of the agent's.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Capabilities
         * @description The configured features.
         */
        "capabilities.response": components["schemas"]["capabilities"];
        /**
         * Changes
         * @description Read the newest changes, newest first, without their contents.
         */
        "changes.request": {
            /**
             * Agent
             * @description The agent whose memory this is.
             */
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Limit
             * @description At most this many changes.
             * @default 20
             */
            limit?: number;
            /**
             * User
             * @description Exactly this user's memories; without it, all of the agent's.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Changes
         * @description The newest changes, newest first.
         */
        "changes.response": {
            /**
             * Changes
             * @description Newest first.
             */
            changes: {
                /**
                 * At
                 * @description When it was committed. Epoch milliseconds.
                 */
                at: components["schemas"]["common"]["$defs"]["moment"];
                /**
                 * Identity
                 * @description The change.
                 */
                id: components["schemas"]["common"]["$defs"]["id"];
                /**
                 * Operation
                 * @description The operation that made it.
                 */
                operation: components["schemas"]["common"]["$defs"]["operation"];
                /**
                 * Reason
                 * @description The reason given in the request.
                 */
                reason?: string;
                /**
                 * Undoes
                 * @description The change that this one reverted.
                 */
                undoes?: components["schemas"]["common"]["$defs"]["id"];
                /**
                 * User
                 * @description The user of the request that made it.
                 */
                user_id?: components["schemas"]["common"]["$defs"]["user_id"];
            }[];
        };
        /**
         * Shared definitions
         * @description Definitions shared by several messages.
         */
        common: {
            $defs: {
                /**
                 * Agent
                 * @description The agent whose memory this is.
                 */
                agent_id: string;
                /**
                 * User
                 * @description The user within the agent's memory.
                 */
                user_id: string;
                /**
                 * Team
                 * @description A name for memories that several agents of a tenant share. They belong to the agent team:NAME.
                 */
                team: string;
                /**
                 * Session
                 * @description The conversation or run.
                 */
                session_id: string;
                /**
                 * Run
                 * @description The run of an agent or a workflow.
                 */
                run_id: string;
                /**
                 * Trace
                 * @description The trace of a request, as in a traceparent header.
                 */
                trace_id: string;
                /**
                 * Identity
                 * @description A stable name of a memory, a change or a recall, without control characters.
                 */
                id: string;
                /**
                 * Identities
                 * @description Identities, each once.
                 */
                ids: components["schemas"]["common"]["$defs"]["id"][];
                /**
                 * Moment
                 * @description Integer Unix epoch milliseconds, up to the end of the year 9999.
                 */
                moment: number;
                /**
                 * Seconds
                 * @description A range that is the years 1973 to 2099 in epoch seconds, and the first weeks of 1970 in milliseconds.
                 */
                seconds: number;
                /**
                 * Version
                 * @description The number of a version of a memory, from 1.
                 */
                version: number;
                /**
                 * Confidence
                 * @description The confidence of the writer, 0 to 1.
                 */
                confidence: number;
                /**
                 * Memory type
                 * @description semantic: facts; episodic: events; procedural: how to do something; emotional: feelings.
                 * @enum {unknown}
                 */
                type: "semantic" | "episodic" | "procedural" | "emotional";
                /**
                 * Memory types
                 * @description Only these types.
                 */
                types: components["schemas"]["common"]["$defs"]["type"][];
                /**
                 * Standing
                 * @description active: takes part in recall; demoted: with a quarter of its score; archived: only on request.
                 * @enum {unknown}
                 */
                standing: "active" | "demoted" | "archived";
                /**
                 * Trust
                 * @description The trust level of the origin of a memory.
                 * @enum {unknown}
                 */
                trust: "untrusted" | "standard" | "trusted";
                /**
                 * Include
                 * @description Standings that are left out by default.
                 * @default []
                 */
                include: "archived"[];
                /**
                 * Fusion
                 * @description How rankings are fused: those of several stores; with legs, those by vector and by text in one store.
                 * @enum {unknown}
                 */
                fusion: "rrf" | "max" | "weighted" | "legs";
                /**
                 * Merge strategy
                 * @description keep_canonical: the canonical record is unchanged; merge_content: contents are joined, metadata united, the highest confidence taken; keep_highest_confidence: the record with the highest confidence survives, the older one on a tie.
                 * @enum {unknown}
                 */
                strategy: "keep_canonical" | "merge_content" | "keep_highest_confidence";
                /**
                 * Expire action
                 * @description forget: soft delete; archive: recalled only on request; demote: recalled with a quarter of the score.
                 * @enum {unknown}
                 */
                action: "forget" | "archive" | "demote";
                /**
                 * Verdict
                 * @description Whether memory answers the query.
                 * @enum {unknown}
                 */
                verdict: "match" | "weak" | "no_match";
                /**
                 * Status
                 * @description The status of a write.
                 * @enum {unknown}
                 */
                status: "committed" | "staged" | "deferred" | "duplicate" | "failed";
                /**
                 * End reason
                 * @description Why a version ended.
                 * @enum {unknown}
                 */
                reason: "replaced" | "forgotten" | "superseded" | "merged" | "expired" | "undone" | "erased";
                /**
                 * Feature
                 * @description An optional feature of a store.
                 * @enum {unknown}
                 */
                feature: "vector" | "fts" | "history" | "as_of" | "undo" | "idempotency" | "hard_delete" | "recall_tracking" | "durable" | "graph";
                /**
                 * Operation
                 * @description An operation of this wire format.
                 * @enum {unknown}
                 */
                operation: "remember" | "recall" | "forget" | "merge" | "expire" | "context" | "profile" | "get" | "list" | "history" | "undo" | "changes" | "share" | "unshare" | "shares" | "proposals" | "proposal" | "decide" | "why" | "rules" | "set_rules" | "test_rule" | "activate_rule" | "revert_rule" | "agents" | "facets" | "recalls" | "feedback" | "erase" | "capabilities";
                /**
                 * Metadata
                 * @description Free-form facts about the memory; filters can read inside.
                 */
                metadata: Record<string, never>;
                /**
                 * Content
                 * @description What is remembered: text, or (procedural memories only) a structured procedure.
                 */
                content: string | Record<string, never>;
                /**
                 * Blank
                 * @description Text with only white space and characters without width.
                 */
                blank: string;
                /**
                 * Tags
                 * @description Short labels, each once.
                 */
                tags: string[];
                /**
                 * Filter
                 * @description Conditions on records; every key must hold. `and`, `or` and `not` combine filters. Any other key is a dotted path: a record field, or a place inside the metadata (with or without the leading `metadata.`). A plain value means equality; an object holds operators.
                 */
                filter: {
                    /**
                     * And
                     * @description All of these filters hold.
                     */
                    and?: components["schemas"]["common"]["$defs"]["filter"][];
                    /**
                     * Not
                     * @description This filter does not hold.
                     */
                    not?: components["schemas"]["common"]["$defs"]["filter"];
                    /**
                     * Or
                     * @description At least one of these filters holds.
                     */
                    or?: components["schemas"]["common"]["$defs"]["filter"][];
                } & {
                    [key: string]: components["schemas"]["common"]["$defs"]["condition"] | never;
                };
                /**
                 * Condition
                 * @description A value to be equal to, or an object of operators that must all hold.
                 */
                condition: unknown;
                /**
                 * Operators
                 * @description Comparisons, all of which must hold. A missing field compares as null.
                 */
                operators: {
                    /**
                     * Contains
                     * @description The text contains this text, or the list has this element.
                     */
                    contains?: string | number | boolean;
                    /**
                     * Equal
                     * @description Equal to this JSON value; a list is also equal to each of its elements.
                     */
                    eq?: unknown;
                    /**
                     * Exists
                     * @description Whether there is a value that is neither null nor an empty list.
                     */
                    exists?: boolean;
                    /**
                     * Greater
                     * @description Greater than this number, or later in code point order than this string.
                     */
                    gt?: number | string;
                    /**
                     * Greater or equal
                     * @description Not less than this number or string.
                     */
                    gte?: number | string;
                    /**
                     * In
                     * @description Equal to one of these values.
                     */
                    in?: unknown[];
                    /**
                     * Less
                     * @description Less than this number or string.
                     */
                    lt?: number | string;
                    /**
                     * Less or equal
                     * @description Not greater than this number or string.
                     */
                    lte?: number | string;
                    /**
                     * Not equal
                     * @description The opposite of eq.
                     */
                    ne?: unknown;
                    /**
                     * Not in
                     * @description Equal to none of these values.
                     */
                    nin?: unknown[];
                    /**
                     * Prefix
                     * @description The text starts with this text.
                     */
                    prefix?: string;
                };
                /**
                 * Stores
                 * @description Names of stores.
                 */
                store_names: string[];
                /**
                 * Outcome
                 * @description The outcome of the request in one store.
                 */
                outcome: {
                    /**
                     * Count
                     * @description The number of records that it wrote, ended or found.
                     */
                    count: number;
                    /**
                     * Error
                     * @description The reason of a failure; null on success.
                     */
                    error?: string | null;
                    /**
                     * Store
                     * @description The store's name.
                     */
                    store: string;
                };
                /**
                 * Outcomes
                 * @description One outcome for every store that was called.
                 */
                outcomes: components["schemas"]["common"]["$defs"]["outcome"][];
                /**
                 * Degraded
                 * @description Parts of the request that were not carried out, by name.
                 */
                degraded: string[];
                /**
                 * Notes
                 * @description Remarks about probable mistakes in the request.
                 */
                notes: string[];
                /**
                 * Approval address
                 * @description Where a person can review a held change; null if none is held or no console is configured.
                 */
                approval_url: string | null;
                /**
                 * Signals
                 * @description The raw signals of a score, by name.
                 */
                signals: {
                    [key: string]: number;
                };
                /**
                 * Most affected
                 * @description Refuse, and change nothing, if more records than this would be affected.
                 */
                max_affected: number;
                /**
                 * Dry run
                 * @description Report what would happen and change nothing.
                 * @default false
                 */
                dry_run: boolean;
                /**
                 * Dry run
                 * @description True when nothing was changed because the request was a dry run.
                 * @default false
                 */
                was_dry_run: boolean;
                /**
                 * Judgement
                 * @description What a rule does: allow, hold for a person, or refuse; redact is for recall alone.
                 * @enum {unknown}
                 */
                judgement: "allow" | "redact" | "hold" | "refuse";
                /**
                 * State
                 * @description The state of a proposal; pending and stale ones need a decision.
                 * @enum {unknown}
                 */
                state: "pending" | "stale" | "approved" | "rejected" | "expired";
                /**
                 * Rule
                 * @description The name of a rule.
                 */
                rule_name: string;
                /**
                 * Note
                 * @description A line of text by a person.
                 */
                note: string;
                /**
                 * Finding
                 * @description The kind and position of a finding, never the value itself.
                 */
                finding: {
                    /**
                     * Kind
                     * @description What it is.
                     */
                    kind: string;
                    /**
                     * Place
                     * @description Its field, as a dotted path.
                     */
                    place: string;
                };
                /**
                 * Findings
                 * @description What was found.
                 */
                findings: components["schemas"]["common"]["$defs"]["finding"][];
                /**
                 * Patterns
                 * @description Any of these; `*` matches any characters.
                 */
                patterns: string[];
                /**
                 * Conditions
                 * @description All of these hold.
                 */
                conditions: {
                    /**
                     * Affects at least
                     * @description At least this number of memories is affected.
                     */
                    affects_at_least?: number;
                    /**
                     * Agent
                     * @description The request is of one of these agents.
                     */
                    agent?: components["schemas"]["common"]["$defs"]["patterns"];
                    /**
                     * By filter
                     * @description Whether a filter or a policy selected the memories.
                     */
                    by_filter?: boolean;
                    /**
                     * Caller
                     * @description The caller is one of these, as named in the ledger.
                     */
                    caller?: components["schemas"]["common"]["$defs"]["patterns"];
                    /**
                     * Confidence below
                     * @description A memory has a lower confidence.
                     */
                    confidence_below?: number;
                    /**
                     * Contains a secret
                     * @description Whether a credential was found in the request.
                     */
                    contains_secret?: boolean;
                    /**
                     * Content contains
                     * @description A memory contains one of these words, in any case.
                     */
                    content_contains?: components["schemas"]["common"]["$defs"]["patterns"];
                    /**
                     * Destructive
                     * @description Whether memories would end or be erased.
                     */
                    destructive?: boolean;
                    /**
                     * Erases
                     * @description Whether memories would be erased.
                     */
                    erases?: boolean;
                    /**
                     * Looks like an instruction
                     * @description Whether a memory addresses the model that will read it.
                     */
                    looks_like_instruction?: boolean;
                    /**
                     * Operation
                     * @description Any of these operations.
                     */
                    operation?: ("remember" | "recall" | "forget" | "merge" | "expire" | "undo" | "share" | "unshare")[];
                    /**
                     * Rejected before
                     * @description Whether a person rejected the same words in the same scope before.
                     */
                    rejected_before?: boolean;
                    /**
                     * Scope
                     * @description The recall covers one of these; without a scope, it covers user if it names a user, else all.
                     */
                    scope?: ("user" | "agent" | "user_and_agent" | "team" | "all")[];
                    /**
                     * Similar to existing
                     * @description Whether a live memory says nearly the same.
                     */
                    similar_to_existing?: boolean;
                    /**
                     * Source
                     * @description A memory has one of these sources; an empty text is none.
                     */
                    source?: components["schemas"]["common"]["$defs"]["patterns"];
                    /**
                     * Tags
                     * @description A memory has one of these tags.
                     */
                    tags?: components["schemas"]["common"]["$defs"]["patterns"];
                    /**
                     * Tenant
                     * @description The request is of one of these tenants.
                     */
                    tenant?: components["schemas"]["common"]["$defs"]["patterns"];
                    /**
                     * Trust
                     * @description A memory has one of these trust levels.
                     */
                    trust?: components["schemas"]["common"]["$defs"]["trust"][];
                    /**
                     * Memory types
                     * @description A memory is of one of these types.
                     */
                    type?: components["schemas"]["common"]["$defs"]["types"];
                    /**
                     * Undoes a person
                     * @description Whether an agent would undo a change of a person.
                     */
                    undoes_person?: boolean;
                    /**
                     * User
                     * @description The request is of one of these users; an empty text is none.
                     */
                    user?: components["schemas"]["common"]["$defs"]["patterns"];
                };
                /**
                 * Rule
                 * @description A verdict for requests that meet all conditions.
                 */
                rule: {
                    /**
                     * Affects at least
                     * @description At least this number of memories is affected.
                     */
                    affects_at_least?: number;
                    /**
                     * Agent
                     * @description The request is of one of these agents.
                     */
                    agent?: components["schemas"]["common"]["$defs"]["patterns"];
                    /**
                     * By filter
                     * @description Whether a filter or a policy selected the memories.
                     */
                    by_filter?: boolean;
                    /**
                     * Caller
                     * @description The caller is one of these, as named in the ledger.
                     */
                    caller?: components["schemas"]["common"]["$defs"]["patterns"];
                    /**
                     * Confidence below
                     * @description A memory has a lower confidence.
                     */
                    confidence_below?: number;
                    /**
                     * Contains a secret
                     * @description Whether a credential was found in the request.
                     */
                    contains_secret?: boolean;
                    /**
                     * Content contains
                     * @description A memory contains one of these words, in any case.
                     */
                    content_contains?: components["schemas"]["common"]["$defs"]["patterns"];
                    /**
                     * Destructive
                     * @description Whether memories would end or be erased.
                     */
                    destructive?: boolean;
                    /**
                     * Enabled
                     * @description Whether it is in effect.
                     * @default true
                     */
                    enabled?: boolean;
                    /**
                     * Erases
                     * @description Whether memories would be erased.
                     */
                    erases?: boolean;
                    /**
                     * Everything
                     * @description It always matches; must be the only condition.
                     * @constant
                     */
                    everything?: true;
                    /**
                     * Learned
                     * @description Whether it was learned from decisions; such a rule never allows suspicious changes.
                     * @default false
                     */
                    learned?: boolean;
                    /**
                     * Looks like an instruction
                     * @description Whether a memory addresses the model that will read it.
                     */
                    looks_like_instruction?: boolean;
                    /**
                     * Name
                     * @description Its name in receipts and the ledger.
                     */
                    name: components["schemas"]["common"]["$defs"]["rule_name"];
                    /**
                     * Not
                     * @description These do not all hold.
                     */
                    not?: components["schemas"]["common"]["$defs"]["conditions"];
                    /**
                     * Note
                     * @description The reason for the rule; shown to affected callers.
                     * @default
                     */
                    note?: components["schemas"]["common"]["$defs"]["note"];
                    /**
                     * Operation
                     * @description Any of these operations.
                     */
                    operation?: ("remember" | "recall" | "forget" | "merge" | "expire" | "undo" | "share" | "unshare")[];
                    /**
                     * Rejected before
                     * @description Whether a person rejected the same words in the same scope before.
                     */
                    rejected_before?: boolean;
                    /**
                     * Reviewers
                     * @description How many different people have to approve what it holds.
                     * @default 1
                     */
                    reviewers?: number;
                    /**
                     * Scope
                     * @description The recall covers one of these; without a scope, it covers user if it names a user, else all.
                     */
                    scope?: ("user" | "agent" | "user_and_agent" | "team" | "all")[];
                    /**
                     * Similar to existing
                     * @description Whether a live memory says nearly the same.
                     */
                    similar_to_existing?: boolean;
                    /**
                     * Source
                     * @description A memory has one of these sources; an empty text is none.
                     */
                    source?: components["schemas"]["common"]["$defs"]["patterns"];
                    /**
                     * Tags
                     * @description A memory has one of these tags.
                     */
                    tags?: components["schemas"]["common"]["$defs"]["patterns"];
                    /**
                     * Tenant
                     * @description The request is of one of these tenants.
                     */
                    tenant?: components["schemas"]["common"]["$defs"]["patterns"];
                    /**
                     * Trust
                     * @description A memory has one of these trust levels.
                     */
                    trust?: components["schemas"]["common"]["$defs"]["trust"][];
                    /**
                     * Memory types
                     * @description A memory is of one of these types.
                     */
                    type?: components["schemas"]["common"]["$defs"]["types"];
                    /**
                     * Undoes a person
                     * @description Whether an agent would undo a change of a person.
                     */
                    undoes_person?: boolean;
                    /**
                     * User
                     * @description The request is of one of these users; an empty text is none.
                     */
                    user?: components["schemas"]["common"]["$defs"]["patterns"];
                    /**
                     * Verdict
                     * @description The verdict if the conditions hold.
                     */
                    verdict: components["schemas"]["common"]["$defs"]["judgement"];
                };
                /**
                 * Rules
                 * @description In order: the first that matches decides.
                 */
                rules: components["schemas"]["common"]["$defs"]["rule"][];
                /**
                 * Decision
                 * @description A decision with its author and time.
                 */
                decision: {
                    /**
                     * At
                     * @description When. Epoch milliseconds.
                     */
                    at: components["schemas"]["common"]["$defs"]["moment"];
                    /**
                     * Automatic
                     * @description Whether it was decided without a person.
                     */
                    automatic: boolean;
                    /**
                     * By
                     * @description Who decided.
                     */
                    by: string;
                    /**
                     * Change
                     * @description The resulting change.
                     */
                    change_id?: components["schemas"]["common"]["$defs"]["id"];
                    /**
                     * Reason
                     * @description The reason given.
                     */
                    reason?: components["schemas"]["common"]["$defs"]["note"];
                    /**
                     * Reviewed at
                     * @description When the reviewer decided, by their own clock. Epoch milliseconds.
                     */
                    reviewed_at?: components["schemas"]["common"]["$defs"]["moment"];
                    /**
                     * Verb
                     * @description The decision; absent if there was none.
                     */
                    verb?: string;
                    /**
                     * Via
                     * @description The credential that vouches for the name in `by`.
                     */
                    via?: string;
                };
                /**
                 * Approval required
                 * @description Hold the request until a person has approved it.
                 * @default false
                 */
                approval_required: boolean;
                /**
                 * Reasoning
                 * @description Why a change is wanted, in the words of the caller.
                 */
                reasoning: string;
                /**
                 * Proposal
                 * @description A change that is or was held for a person. It is in no store.
                 */
                proposal: {
                    /**
                     * Agent
                     * @description The agent whose memory it would change.
                     */
                    agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
                    /**
                     * Approvals
                     * @description Who has approved it as it is; absent if one approval is enough.
                     * @default []
                     */
                    approvals?: {
                        /**
                         * At
                         * @description When. Epoch milliseconds.
                         */
                        at: components["schemas"]["common"]["$defs"]["moment"];
                        /**
                         * By
                         * @description Who approved.
                         */
                        by: string;
                        /**
                         * Reason
                         * @description The reason given.
                         */
                        reason?: components["schemas"]["common"]["$defs"]["note"];
                        /**
                         * Via
                         * @description The credential that vouches for the name in `by`.
                         */
                        via?: string;
                    }[];
                    /**
                     * At
                     * @description When it was held. Epoch milliseconds.
                     */
                    at: components["schemas"]["common"]["$defs"]["moment"];
                    /**
                     * Batch
                     * @description The batch that it was held with.
                     */
                    batch?: components["schemas"]["common"]["$defs"]["id"];
                    /**
                     * Caller
                     * @description The requester.
                     */
                    caller: string;
                    /**
                     * Decision
                     * @description What was decided.
                     */
                    decision?: components["schemas"]["common"]["$defs"]["decision"];
                    /**
                     * Erases
                     * @description True if an approval erases content: a decision then needs `confirm`.
                     */
                    erases?: boolean;
                    /**
                     * Expires at
                     * @description When the proposal expires. Epoch milliseconds.
                     */
                    expires_at?: components["schemas"]["common"]["$defs"]["moment"];
                    /**
                     * Identity
                     * @description The proposal.
                     */
                    id: components["schemas"]["common"]["$defs"]["id"];
                    /**
                     * Instructions
                     * @description Signs that it addresses the model.
                     */
                    instructions: components["schemas"]["common"]["$defs"]["findings"];
                    /**
                     * Memories
                     * @description What it would begin, end or erase.
                     */
                    memories: components["schemas"]["common"]["$defs"]["ids"];
                    /**
                     * Operation
                     * @description The requested operation.
                     */
                    operation: components["schemas"]["common"]["$defs"]["operation"];
                    /**
                     * Preview
                     * @description The beginning of the content of the first memory, or of the query of a recall; absent if nothing is written, or it was erased.
                     */
                    preview?: string;
                    /**
                     * Reasoning
                     * @description Why the caller wants it; absent if none was given, or it was erased.
                     */
                    reasoning?: components["schemas"]["common"]["$defs"]["reasoning"];
                    /**
                     * Reviewers
                     * @description How many different people have to approve it; absent for one.
                     * @default 1
                     */
                    reviewers?: number;
                    /**
                     * Revision
                     * @description The version of the proposal, from 1.
                     */
                    revision: number;
                    /**
                     * Risk
                     * @description The risk: high if it contains a secret or an instruction, or erases; medium if it ends or replaces memories, or is not trusted.
                     * @enum {unknown}
                     */
                    risk?: "low" | "medium" | "high";
                    /**
                     * Rule
                     * @description The rule that held it.
                     */
                    rule: components["schemas"]["common"]["$defs"]["rule_name"];
                    /**
                     * Secrets
                     * @description Secrets that were redacted.
                     */
                    secrets: components["schemas"]["common"]["$defs"]["findings"];
                    /**
                     * Similar
                     * @description Memories that may be duplicates.
                     */
                    similar: components["schemas"]["common"]["$defs"]["ids"];
                    /**
                     * State
                     * @description Its state.
                     */
                    state: components["schemas"]["common"]["$defs"]["state"];
                    /**
                     * User
                     * @description The user of the request.
                     */
                    user_id?: components["schemas"]["common"]["$defs"]["user_id"];
                    /**
                     * Why
                     * @description Why, in a sentence that repeats no content.
                     */
                    why: string;
                };
                /**
                 * Helped
                 * @description Feedback on a memory that a recall returned.
                 * @enum {unknown}
                 */
                helped: "useful" | "wrong" | "outdated";
            };
        };
        /**
         * Context
         * @description Build what an agent reads before it answers: constraints, facts about the person, and memories that help with the prompt.
         */
        "context.request": {
            /**
             * Agent
             * @description The agent whose memory this is.
             */
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Budget
             * @description At most this many tokens of text.
             * @default 512
             */
            budget?: number;
            /**
             * Messages
             * @description The conversation so far, oldest first; the last words of the user are the prompt.
             */
            messages?: {
                /**
                 * Content
                 * @description The words of the message.
                 */
                content: string;
                /**
                 * Role
                 * @description Who said it: user, assistant, system or tool.
                 */
                role: string;
            }[];
            /**
             * Prompt
             * @description What the person asks or tells the agent to do; not blank.
             */
            prompt?: string;
            /**
             * Recent turns
             * @description Also the last turns of the session, or of the user, at most this many.
             * @default 0
             */
            recent?: number;
            /**
             * Run
             * @description The run that asks; it is noted with the recall.
             */
            run_id?: components["schemas"]["common"]["$defs"]["run_id"];
            /**
             * Session
             * @description The session whose recent turns are meant.
             */
            session_id?: components["schemas"]["common"]["$defs"]["session_id"];
            /**
             * Trace
             * @description The trace of the request; it is noted with the recall.
             */
            trace_id?: components["schemas"]["common"]["$defs"]["trace_id"];
            /**
             * User
             * @description This user's memories and the agent's own; without it, only the agent's own, which belong to no user.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Context block
         * @description A block of text for a model, and the same as data.
         */
        "context.response": {
            /**
             * Budget
             * @description What it could cost at most.
             */
            budget: number;
            /**
             * Degraded
             * @description Parts of the request that were not carried out, by name.
             */
            degraded: components["schemas"]["common"]["$defs"]["degraded"];
            /**
             * Left out
             * @description The number of lines that did not fit into the budget.
             */
            left_out: number;
            /**
             * Lines
             * @description The memories of the block, in its order.
             */
            lines: components["schemas"]["context.response"]["$defs"]["line"][];
            /**
             * Recall
             * @description The id under which `why` tells what was handed out.
             */
            recall_id: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Text
             * @description The block, fenced as data; empty if there is nothing to say.
             */
            text: string;
            /**
             * Tokens
             * @description What the text costs.
             */
            tokens: number;
            /**
             * Verdict
             * @description match: a memory helps with the prompt; weak: only constraints, rules or recent turns; no_match: the block is empty.
             */
            verdict: components["schemas"]["common"]["$defs"]["verdict"];
            $defs: {
                /**
                 * Line
                 * @description One memory of the block, and why it is there.
                 */
                line: {
                    /**
                     * Content
                     * @description What the memory says.
                     */
                    content: components["schemas"]["common"]["$defs"]["content"];
                    /**
                     * Id
                     * @description The memory.
                     */
                    id: components["schemas"]["common"]["$defs"]["id"];
                    /**
                     * Kind
                     * @description The kind of fact; absent if the memory has no label.
                     */
                    kind?: string;
                    /**
                     * Lender
                     * @description The agent that lends it; absent for a memory of the agent that asks.
                     */
                    lender?: components["schemas"]["common"]["$defs"]["agent_id"];
                    /**
                     * Reason
                     * @description Why the line is in the block.
                     */
                    reason: string;
                    /**
                     * Score
                     * @description How much it helps with the prompt, from 0 to 1.
                     */
                    score: number;
                    /**
                     * Section
                     * @description The part of the block.
                     * @enum {unknown}
                     */
                    section: "constraint" | "profile" | "memory" | "rule" | "recent";
                    /**
                     * Slot
                     * @description What the fact is a value of; absent if the memory has no slot.
                     */
                    slot?: string;
                };
            };
        };
        /**
         * Debts
         * @description What stores have still to write, oldest first.
         */
        "debts.response": {
            debts: {
                agent_id: string;
                at: number;
                change_id: string;
                due_at: number;
                error?: string | null;
                operation: string;
                store: string;
                tries: number;
            }[];
        };
        /**
         * Decide
         * @description Decide one proposal, or several of one agent: all of them or none.
         */
        "decide.request": {
            /**
             * Agent
             * @description Only this agent; without it, all agents of the tenant.
             */
            agent_id?: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Confirm
             * @description The word `erase`, typed by a person. Required to approve an erasure.
             */
            confirm?: string;
            /**
             * Edit
             * @description New fields for a held remember.
             * @default {}
             */
            edit?: {
                /**
                 * Confidence
                 * @description The new confidence.
                 */
                confidence?: components["schemas"]["remember.request"]["confidence"];
                /**
                 * Content
                 * @description The new content.
                 */
                content?: components["schemas"]["remember.request"]["content"];
                /**
                 * Expires at
                 * @description The new expiry. Epoch milliseconds.
                 */
                expires_at?: components["schemas"]["remember.request"]["expires_at"];
                /**
                 * Metadata
                 * @description The new metadata, complete.
                 */
                metadata?: components["schemas"]["remember.request"]["metadata"];
                /**
                 * Occurred at
                 * @description The new time of the event. Epoch milliseconds.
                 */
                occurred_at?: components["schemas"]["remember.request"]["occurred_at"];
                /**
                 * Session
                 * @description The new session.
                 */
                session_id?: components["schemas"]["remember.request"]["session_id"];
                /**
                 * Tags
                 * @description The new tags, complete.
                 */
                tags?: components["schemas"]["remember.request"]["tags"];
                /**
                 * Trust
                 * @description A trust level lower than the policy gives to its source.
                 */
                trust?: components["schemas"]["remember.request"]["trust"];
                /**
                 * Memory type
                 * @description The new type.
                 */
                type?: components["schemas"]["remember.request"]["type"];
            };
            /**
             * Proposals
             * @description The decision.
             */
            proposal_ids: components["schemas"]["common"]["$defs"]["ids"];
            /**
             * Reason
             * @description The reason; stored with the decision.
             */
            reason?: components["schemas"]["common"]["$defs"]["note"];
            /**
             * Seen
             * @description The digest of what the reviewer saw, from `proposal`; if it has changed since, nothing is decided.
             */
            seen?: string;
            /**
             * Target
             * @description The memory to merge into, to supersede or to forget.
             */
            target?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * User
             * @description Only exactly this user.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
            /**
             * Verb
             * @description approve: unchanged; edit: with other content; reject: not at all; merge: into the target; supersede: in place of the target; forget_similar: and the target ends; reopen: the decision and its effect are reverted, and the proposals are pending again.
             * @enum {unknown}
             */
            verb: "approve" | "edit" | "reject" | "merge" | "supersede" | "forget_similar" | "reopen";
        };
        /**
         * Decided
         * @description The receipt of a decision.
         */
        "decide.response": {
            /**
             * At
             * @description When. Epoch milliseconds.
             */
            at: components["schemas"]["common"]["$defs"]["moment"];
            /**
             * By
             * @description Who decided.
             */
            by: string;
            /**
             * Change
             * @description The resulting change, for undo; absent if there is none.
             */
            change_id?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Erased
             * @description True if it erased content: neither undo nor reopen can revert it.
             */
            erased?: boolean;
            /**
             * Outcomes
             * @description The outcome in each store.
             */
            outcomes: components["schemas"]["common"]["$defs"]["outcomes"];
            /**
             * Proposals
             * @description What was decided.
             */
            proposal_ids: components["schemas"]["common"]["$defs"]["ids"];
            /**
             * State
             * @description Their new state.
             */
            state: components["schemas"]["common"]["$defs"]["state"];
            /**
             * Status
             * @description The status of the write; absent if nothing was written.
             */
            status?: components["schemas"]["common"]["$defs"]["status"];
            /**
             * Waiting
             * @description Those of the proposals that other reviewers have to approve too; absent if there are none.
             */
            waiting?: {
                /**
                 * Approvals
                 * @description How many have approved it.
                 */
                approvals: number;
                /**
                 * Proposal
                 * @description The proposal.
                 */
                proposal_id: components["schemas"]["common"]["$defs"]["id"];
                /**
                 * Reviewers
                 * @description How many have to.
                 */
                reviewers: number;
            }[];
        };
        /**
         * Dream
         * @description Merge duplicates, end memories that a later one contradicts, archive unused ones.
         */
        "dream.request": {
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /** @description Report what would be done and change nothing. */
            dry_run?: boolean;
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Dreamed
         * @description A run and the rules for the next session.
         */
        "dream.response": {
            /** @description How many steps are left for the next run. */
            left: number;
            /** @description How many memories were looked at. */
            memories: number;
            /** @description What a model was asked, or why none was. */
            model: Record<string, never>;
            /** @description The recall before and after. */
            probes?: Record<string, never>;
            /** @description Steps that wait for a person, each with its proposal_id. */
            proposed: Record<string, never>[];
            /** @description Steps that a rule refused. */
            refused: Record<string, never>[];
            /**
             * @description What became of the run.
             * @enum {unknown}
             */
            result: "calm" | "rehearsed" | "committed" | "discarded";
            rules: {
                blacklist: components["schemas"]["dream.response"]["$defs"]["rules"];
                do: components["schemas"]["dream.response"]["$defs"]["rules"];
                know: components["schemas"]["dream.response"]["$defs"]["rules"];
            };
            /** @description The change, for undo; absent if nothing was changed. */
            run?: string;
            /** @description What was done, with reasons. */
            steps: Record<string, never>[];
            $defs: {
                rules: {
                    content: string;
                    id: string;
                }[];
            };
        };
        /**
         * Erase
         * @description Erase everything of a user, for good.
         */
        "erase.request": {
            /**
             * Agent
             * @description Only this agent; without it, all agents of the tenant.
             */
            agent_id?: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Dry run
             * @description Report what would be erased and change nothing.
             * @default false
             */
            dry_run?: boolean;
            /**
             * Reason
             * @description The reason, which stays in the ledger: it must not name the user.
             */
            reason?: string;
            /**
             * User
             * @description Exactly this user.
             */
            user_id: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Erased
         * @description The receipt of an erase; in a dry run, what it would do.
         */
        "erase.response": {
            /**
             * Agents
             * @description The agents that had memories of the user.
             */
            agents: {
                /**
                 * Agent
                 * @description The agent.
                 */
                agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
                /**
                 * Erased
                 * @description The memories that were erased.
                 */
                erased_ids: components["schemas"]["common"]["$defs"]["ids"];
                /**
                 * Outcomes
                 * @description The outcome in each store, of each change.
                 */
                outcomes: components["schemas"]["common"]["$defs"]["outcomes"];
                /**
                 * Proposals
                 * @description The proposals that a person must approve.
                 */
                proposal_ids: components["schemas"]["common"]["$defs"]["ids"];
                /**
                 * Waiting
                 * @description The memories that an approval will erase.
                 */
                waiting_ids: components["schemas"]["common"]["$defs"]["ids"];
            }[];
            /**
             * Dry run
             * @description True when nothing was changed because the request was a dry run.
             */
            dry_run: boolean;
            /**
             * Erased
             * @description How many memories were erased.
             */
            erased: number;
            /**
             * Id removed
             * @description Whether no row has the id of the user any more; false while something of the user is left.
             */
            id_removed: boolean;
            /**
             * User
             * @description The user.
             */
            user_id: components["schemas"]["common"]["$defs"]["user_id"];
            /**
             * Waiting
             * @description How many memories a person must still approve to erase.
             */
            waiting: number;
        };
        /**
         * Expire
         * @description Forget, archive or demote every memory that a policy selects.
         */
        "expire.request": {
            /**
             * Action
             * @description The action for the selected memories.
             * @default forget
             */
            action?: components["schemas"]["common"]["$defs"]["action"];
            /**
             * Agent
             * @description The agent whose memory this is.
             */
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Approval required
             * @description Hold the change until a person has approved it.
             */
            approval_required?: components["schemas"]["common"]["$defs"]["approval_required"];
            /**
             * Dry run
             * @description Report what would be affected and change nothing.
             */
            dry_run?: components["schemas"]["common"]["$defs"]["dry_run"];
            /**
             * Most affected
             * @description Refuse, and change nothing, if more records than this would be affected.
             */
            max_affected?: components["schemas"]["common"]["$defs"]["max_affected"];
            /**
             * Policy
             * @description Conditions that must all hold; at least one is required.
             */
            policy: {
                /**
                 * Confidence below
                 * @description With a confidence below this.
                 */
                confidence_below?: components["schemas"]["common"]["$defs"]["confidence"];
                /**
                 * Not recalled in
                 * @description Neither written nor recalled for this many days.
                 */
                no_recall_in_days?: number;
                /**
                 * Older than
                 * @description Created at least this many days ago.
                 */
                older_than_days?: number;
                /**
                 * Memory type
                 * @description Of this type.
                 */
                type?: components["schemas"]["common"]["$defs"]["type"];
            };
            /**
             * Reasoning
             * @description Why the caller wants this. A reviewer sees it, and the change keeps it.
             */
            reasoning?: components["schemas"]["common"]["$defs"]["reasoning"];
            /**
             * User
             * @description Only this user's memories; without it, all of the agent's.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Expired
         * @description The receipt of an expire.
         */
        "expire.response": {
            /**
             * Action requested
             * @description The action that an approval will take, or that the dry run would take; absent if it was taken.
             */
            action_requested?: components["schemas"]["common"]["$defs"]["action"];
            /**
             * Action taken
             * @description The action that was taken; in a dry run, that would be taken. Absent while the change is held.
             */
            action_taken?: components["schemas"]["common"]["$defs"]["action"];
            /**
             * Approval address
             * @description Where a person can review a held change; null if none is held or no console is configured.
             */
            approval_url?: components["schemas"]["common"]["$defs"]["approval_url"];
            /**
             * Change
             * @description The committed change, for undo; absent if nothing was changed.
             */
            change_id?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Degraded
             * @description Parts of the request that were not carried out, by name.
             */
            degraded: components["schemas"]["common"]["$defs"]["degraded"];
            /**
             * Dry run
             * @description True when nothing was changed because the request was a dry run.
             */
            dry_run?: components["schemas"]["common"]["$defs"]["was_dry_run"];
            /**
             * Matched count
             * @description The number of memories that the policy selected.
             */
            matched_count: number;
            /**
             * Matched
             * @description The memories that the policy selected.
             */
            matched_ids: components["schemas"]["common"]["$defs"]["ids"];
            /**
             * Outcomes
             * @description The outcome in each store.
             */
            outcomes: components["schemas"]["common"]["$defs"]["outcomes"];
            /**
             * Pending approval
             * @description True while the change is held for a person.
             */
            pending_approval: boolean;
            /**
             * Proposal
             * @description The proposal of a held change; absent if none is held.
             */
            proposal_id?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Rule
             * @description The rule that holds it; absent if none does.
             */
            rule?: components["schemas"]["common"]["$defs"]["rule_name"];
            /**
             * Status
             * @description The status of the write; absent if there was nothing to change.
             */
            status?: components["schemas"]["common"]["$defs"]["status"];
            /**
             * Stores
             * @description The stores that have the change; empty while it is held.
             */
            stores: components["schemas"]["common"]["$defs"]["store_names"];
        };
        /**
         * Export
         * @description Everything of a user as a bundle, which `memorywire import` reads.
         */
        "export.response": {
            /** @description The number of lines of each kind, and of versions (put). */
            counts: {
                [key: string]: number;
            };
            /** @description The SHA-256 of the lines before the end. */
            digest: string;
            /** @description The lines of the file. */
            lines: string[];
            /** @description The user. */
            user_id: string;
        };
        /**
         * Facets
         * @description Count the values of fields among the memories that a list would give.
         */
        "facets.request": {
            /**
             * Agent
             * @description The agent whose memory this is.
             */
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Filter
             * @description Only records for which this holds.
             */
            filter?: components["schemas"]["common"]["$defs"]["filter"];
            /**
             * Include
             * @description Also list memories of these standings.
             */
            include?: components["schemas"]["common"]["$defs"]["include"];
            /**
             * Memory types
             * @description Only these types; without it, all four.
             */
            types?: components["schemas"]["common"]["$defs"]["types"];
            /**
             * User
             * @description Exactly this user's memories; without it, all of the agent's.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Facet counts
         * @description Counts of memories by the values of their fields.
         */
        "facets.response": {
            /**
             * Fields
             * @description For each field its most frequent values.
             */
            fields: {
                /**
                 * Source
                 * @description Sources, the most frequent first.
                 */
                source: components["schemas"]["facets.response"]["$defs"]["value"][];
                /**
                 * Standing
                 * @description Standings, the most frequent first.
                 */
                standing: components["schemas"]["facets.response"]["$defs"]["value"][];
                /**
                 * Tags
                 * @description Tags, the most frequent first.
                 */
                tags: components["schemas"]["facets.response"]["$defs"]["value"][];
                /**
                 * Trust
                 * @description Trust, the most frequent first.
                 */
                trust: components["schemas"]["facets.response"]["$defs"]["value"][];
                /**
                 * Type
                 * @description Memory types, the most frequent first.
                 */
                type: components["schemas"]["facets.response"]["$defs"]["value"][];
                /**
                 * User
                 * @description Users, the most frequent first.
                 */
                user_id: components["schemas"]["facets.response"]["$defs"]["value"][];
            };
            /**
             * Looked at
             * @description The number of matching memories that were counted: all of them, or the newest.
             */
            looked_at: number;
            $defs: {
                /**
                 * Value
                 * @description A value and how many memories have it.
                 */
                value: {
                    /**
                     * Count
                     * @description The number of memories with it.
                     */
                    count: number;
                    /**
                     * Value
                     * @description The value.
                     */
                    value: string;
                };
            };
        };
        /**
         * Feedback
         * @description Give feedback on a memory that a recall returned; it is recorded, and nothing else changes.
         */
        "feedback.request": {
            /**
             * Agent
             * @description Only this agent; without it, all agents of the tenant.
             */
            agent_id?: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Helped
             * @description The feedback.
             */
            helped: components["schemas"]["common"]["$defs"]["helped"];
            /**
             * Memory
             * @description The memory that was returned.
             */
            memory_id: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Reason
             * @description The reason.
             */
            reason?: components["schemas"]["common"]["$defs"]["note"];
            /**
             * Recall
             * @description The recall.
             */
            recall_id: components["schemas"]["common"]["$defs"]["id"];
            /**
             * User
             * @description Only exactly this user.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Judged
         * @description The recorded feedback.
         */
        "feedback.response": {
            /**
             * At
             * @description When. Epoch milliseconds.
             */
            at: components["schemas"]["common"]["$defs"]["moment"];
            /**
             * By
             * @description The author.
             */
            by: string;
            /**
             * Helped
             * @description The feedback.
             */
            helped: components["schemas"]["common"]["$defs"]["helped"];
            /**
             * Memory
             * @description The memory that was returned.
             */
            memory_id: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Reason
             * @description The reason given.
             */
            reason?: components["schemas"]["common"]["$defs"]["note"];
        };
        /**
         * Forget
         * @description Forget memories by id, by filter, or both; at least one of the two is required.
         */
        "forget.request": {
            /**
             * Agent
             * @description The agent whose memory this is.
             */
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Approval required
             * @description Hold the change until a person has approved it.
             */
            approval_required?: components["schemas"]["common"]["$defs"]["approval_required"];
            /**
             * Dry run
             * @description Report what would be forgotten and change nothing.
             */
            dry_run?: components["schemas"]["common"]["$defs"]["dry_run"];
            /**
             * Filter
             * @description Forget every record for which this holds.
             */
            filter?: components["schemas"]["common"]["$defs"]["filter"];
            /**
             * Hard delete
             * @description Erase content, metadata, index and vectors instead of ending the memory.
             * @default false
             */
            hard_delete?: boolean;
            /**
             * Identities
             * @description The memories to forget.
             */
            ids?: components["schemas"]["common"]["$defs"]["ids"];
            /**
             * Most affected
             * @description Refuse, and change nothing, if more records than this would be forgotten.
             */
            max_affected?: components["schemas"]["common"]["$defs"]["max_affected"];
            /**
             * Reason
             * @description The reason, for the record.
             */
            reason?: string;
            /**
             * Reasoning
             * @description Why the caller wants this. A reviewer sees it, and the change keeps it.
             */
            reasoning?: components["schemas"]["common"]["$defs"]["reasoning"];
            /**
             * User
             * @description Forget only this user's memories; without it, any of the agent's.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Forgotten
         * @description The receipt of a forget.
         */
        "forget.response": {
            /**
             * Approval address
             * @description Where a person can review a held change; null if none is held or no console is configured.
             */
            approval_url?: components["schemas"]["common"]["$defs"]["approval_url"];
            /**
             * Change
             * @description The committed change, for undo; absent if nothing was changed.
             */
            change_id?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Degraded
             * @description Parts of the request that were not carried out, by name.
             */
            degraded: components["schemas"]["common"]["$defs"]["degraded"];
            /**
             * Dry run
             * @description True when nothing was changed because the request was a dry run.
             */
            dry_run?: components["schemas"]["common"]["$defs"]["was_dry_run"];
            /**
             * Forgotten
             * @description The memories that ended; in a dry run, those that would end. Empty while the change is held.
             */
            forgotten_ids: components["schemas"]["common"]["$defs"]["ids"];
            /**
             * Hard delete
             * @description Whether an erasure was requested.
             */
            hard_delete: boolean;
            /**
             * Missing
             * @description Ids that are not live in this scope.
             */
            missing_ids: components["schemas"]["common"]["$defs"]["ids"];
            /**
             * Notes
             * @description Remarks about probable mistakes in the request; absent if there are none.
             */
            notes?: components["schemas"]["common"]["$defs"]["notes"];
            /**
             * Pending approval
             * @description True while the change is held for a person.
             */
            pending_approval: boolean;
            /**
             * Proposal
             * @description The proposal of a held change; absent if none is held.
             */
            proposal_id?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Rule
             * @description The rule that holds it; absent if none does.
             */
            rule?: components["schemas"]["common"]["$defs"]["rule_name"];
            /**
             * Status
             * @description The status of the write; absent if there was nothing to change.
             */
            status?: components["schemas"]["common"]["$defs"]["status"];
            /**
             * Stores
             * @description The outcome in each store.
             */
            stores: components["schemas"]["common"]["$defs"]["outcomes"];
            /**
             * Would forget
             * @description The memories that an approval will end, or that the dry run would end; absent if the change was made.
             */
            would_forget_ids?: components["schemas"]["common"]["$defs"]["ids"];
        };
        /**
         * Get
         * @description Read one live memory by id.
         */
        "get.request": {
            /**
             * Agent
             * @description The agent whose memory this is.
             */
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Identity
             * @description The memory to read.
             */
            id: components["schemas"]["common"]["$defs"]["id"];
            /**
             * User
             * @description Exactly this user's memories; without it, all of the agent's.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Got
         * @description The memory's current version.
         */
        "get.response": components["schemas"]["record"];
        /**
         * Governance request
         * @description What a reviewer is asked: a request that is held, and what it would do.
         */
        governance_request: {
            /**
             * Agent
             * @description The agent whose memory it concerns.
             */
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Approvals
             * @description Who has approved it so far.
             */
            approvals: components["schemas"]["common"]["$defs"]["proposal"]["approvals"];
            /**
             * Callback
             * @description The path, on the server that asks, that takes a later response; absent where there is no server.
             */
            callback?: string;
            /**
             * Difference
             * @description Its effect on the current memory.
             */
            diff: components["schemas"]["proposal.response"]["diff"];
            /**
             * Erases
             * @description True if an approval erases content: the response then needs `confirm`.
             */
            erases?: boolean;
            /**
             * Operation
             * @description The requested operation.
             */
            operation: components["schemas"]["common"]["$defs"]["operation"];
            /**
             * Proposal
             * @description The proposal.
             */
            proposal_id: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Reasoning
             * @description Why the caller wants it; absent if none was given.
             */
            reasoning?: components["schemas"]["common"]["$defs"]["reasoning"];
            /**
             * Request
             * @description The request as it could be sent again, without secrets and without fields that have their default; null for what was imported as a change.
             */
            request: Record<string, never> | null;
            /**
             * Reviewers
             * @description How many different people have to approve it.
             */
            reviewers: number;
            /**
             * Risk
             * @description The risk of the change.
             * @enum {unknown}
             */
            risk: "low" | "medium" | "high";
            /**
             * Rule
             * @description The rule that held it.
             */
            rule: components["schemas"]["common"]["$defs"]["rule_name"];
            /**
             * Seen
             * @description A digest of this view; the response repeats it.
             */
            seen: string;
            /**
             * User
             * @description The user of the request.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
            /**
             * Why
             * @description Why, in a sentence that repeats no content.
             */
            why: string;
        };
        /**
         * Governance response
         * @description What a reviewer decided. A callback names the proposal and what was seen of it.
         */
        governance_response: {
            /**
             * Approved
             * @description Whether the request may be carried out.
             */
            approved: boolean;
            /**
             * Confirm
             * @description The word `erase`, to approve an erase.
             */
            confirm?: string;
            /**
             * Proposal
             * @description The proposal of the request.
             */
            proposal_id?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Reason
             * @description The reason, for the ledger and the caller.
             */
            reason?: components["schemas"]["common"]["$defs"]["note"];
            /**
             * Reviewed at
             * @description When. Epoch milliseconds.
             */
            reviewed_at: components["schemas"]["common"]["$defs"]["moment"];
            /**
             * Reviewer
             * @description Who decided.
             */
            reviewer: string;
            /**
             * Seen
             * @description The `seen` of the request.
             */
            seen?: string;
        };
        /** Health */
        health: {
            /** @enum {unknown} */
            status: "ok" | "not ready" | "read-only";
        };
        /**
         * History
         * @description Read every version of a memory, ended and erased ones included.
         */
        "history.request": {
            /**
             * Agent
             * @description The agent whose memory this is.
             */
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Identity
             * @description The memory.
             */
            id: components["schemas"]["common"]["$defs"]["id"];
            /**
             * User
             * @description Exactly this user's memories; without it, all of the agent's.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Versions
         * @description Every version of a memory, oldest first.
         */
        "history.response": {
            /**
             * Identity
             * @description The memory.
             */
            id: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Versions
             * @description Oldest first.
             */
            versions: components["schemas"]["history.response"]["$defs"]["link"][];
            $defs: {
                /**
                 * Version
                 * @description One version.
                 */
                link: {
                    /**
                     * Began at
                     * @description When it became current. Epoch milliseconds.
                     */
                    began_at: components["schemas"]["common"]["$defs"]["moment"];
                    /**
                     * Began by
                     * @description The change that began it.
                     */
                    began_by: components["schemas"]["common"]["$defs"]["id"];
                    /**
                     * Ended at
                     * @description When it ended. Epoch milliseconds.
                     */
                    ended_at?: components["schemas"]["common"]["$defs"]["moment"];
                    /**
                     * Ended by
                     * @description The change that ended it.
                     */
                    ended_by?: components["schemas"]["common"]["$defs"]["id"];
                    /**
                     * Into
                     * @description The memory that replaced it.
                     */
                    into?: components["schemas"]["common"]["$defs"]["id"];
                    /**
                     * Number
                     * @description The version's number.
                     */
                    number: components["schemas"]["common"]["$defs"]["version"];
                    /**
                     * Reason
                     * @description Why it ended.
                     */
                    reason?: components["schemas"]["common"]["$defs"]["reason"];
                    /**
                     * Record
                     * @description Its content; absent if it was erased.
                     */
                    record?: components["schemas"]["record"];
                };
            };
        };
        /**
         * Deleted
         * @description The receipt of a delete.
         */
        "kv_delete.response": {
            existed: boolean;
            key: string;
            proposal_id?: string;
            status?: components["schemas"]["common"]["$defs"]["status"];
        };
        /**
         * Entry
         * @description A key and its value.
         */
        "kv_entry.request": {
            /**
             * @description Whether it can be found by meaning.
             * @default false
             */
            embed?: boolean;
            /** @description Words it is also found by. */
            embed_text?: string;
            /** @description The version that must be there; 0 for none. */
            if_version?: number;
            /**
             * @description What finds it: all of it, embed_text alone, or no search. By default all, if the entry has embed or embed_text, else none.
             * @enum {string}
             */
            index?: "all" | "text" | "none";
            /** @description The key. */
            key: string;
            /**
             * @description Replace a secret by its marker instead of refusing the value.
             * @default false
             */
            redact?: boolean;
            /** @description Who says so. */
            source?: string;
            /** @description Seconds until it ends; without it, or with 0, the end that is set stays. */
            ttl?: number;
            /** @description Any JSON value; it comes back as it was sent. */
            value: unknown;
        };
        /**
         * Entry
         * @description A key and its value.
         */
        "kv_get.response": {
            created_at: components["schemas"]["common"]["$defs"]["moment"];
            embedded: boolean;
            expires_at?: components["schemas"]["common"]["$defs"]["moment"];
            /** @description The memory that keeps it. */
            id: string;
            key: string;
            updated_at: components["schemas"]["common"]["$defs"]["moment"];
            /** @description The value, as it was set. */
            value: unknown;
            version: number;
        };
        /**
         * Incr
         * @description What to add to the number under a key.
         */
        "kv_incr.request": {
            /** @default 1 */
            by?: number;
        };
        /**
         * Kept
         * @description The receipt of a set.
         */
        "kv_incr.response": components["schemas"]["kv_set.response"];
        /**
         * Entries
         * @description Entries in the order of their keys; go on with `after` = `next`.
         */
        "kv_list.response": {
            entries: components["schemas"]["kv_get.response"][];
            next?: string;
            truncated: boolean;
        };
        /**
         * Re-embed
         * @description Make the vectors that are missing.
         */
        "kv_reembed.request": Record<string, never>;
        /**
         * Re-embedded
         * @description How many entries got a vector, and why others did not.
         */
        "kv_reembed.response": {
            entries: number;
            failed: {
                [key: string]: string;
            };
        };
        /**
         * Search
         * @description What to find among the entries.
         */
        "kv_search.request": {
            /**
             * Deduplication
             * @description What to do with entries that say almost the same.
             */
            dedup?: {
                /** @enum {unknown} */
                mode: "drop" | "merge" | "keep";
                /** @default 0.93 */
                threshold?: number;
            };
            /** @default off */
            min_relevance?: components["schemas"]["recall.request"]["min_relevance"];
            /** @description Only keys that begin so. */
            prefix?: string;
            query: string;
            rank?: components["schemas"]["recall.request"]["rank"];
            /** @default 10 */
            top_k?: number;
        };
        /**
         * Matches
         * @description Entries, best first.
         */
        "kv_search.response": {
            degraded: string[];
            dimension: number;
            matches: {
                created_at: components["schemas"]["common"]["$defs"]["moment"];
                embedded: boolean;
                expires_at?: components["schemas"]["common"]["$defs"]["moment"];
                /** @description The memory that keeps it. */
                id: string;
                key: string;
                merged_from?: components["schemas"]["kv_get.response"][];
                score: number;
                updated_at: components["schemas"]["common"]["$defs"]["moment"];
                /** @description The value, as it was set. */
                value: unknown;
                version: number;
            }[];
            recall_id?: string;
            repeats: number;
            truncated: boolean;
        };
        /**
         * Set many
         * @description Values to keep; each has its own receipt or problem.
         */
        "kv_set_many.request": {
            entries: (components["schemas"]["kv_entry.request"] | Record<string, never>)[];
        };
        /**
         * Receipts
         * @description One receipt or problem for each entry, in their order.
         */
        "kv_set_many.response": {
            items: {
                answer?: components["schemas"]["kv_set.response"];
                problem?: components["schemas"]["problem"];
                status: number;
            }[];
        };
        /**
         * Set
         * @description A value to keep under a key.
         */
        "kv_set.request": {
            /**
             * @description Whether it can be found by meaning.
             * @default false
             */
            embed?: boolean;
            /** @description Words it is also found by. */
            embed_text?: string;
            /** @description The version that must be there; 0 for none. */
            if_version?: number;
            /**
             * @description What finds it: all of it, embed_text alone, or no search. By default all, if the entry has embed or embed_text, else none.
             * @enum {string}
             */
            index?: "all" | "text" | "none";
            /**
             * @description Replace a secret by its marker instead of refusing the value.
             * @default false
             */
            redact?: boolean;
            /** @description Who says so. */
            source?: string;
            /** @description Seconds until it ends; without it, or with 0, the end that is set stays. */
            ttl?: number;
            /** @description Any JSON value; it comes back as it was sent. */
            value: unknown;
        };
        /**
         * Kept
         * @description The receipt of a set.
         */
        "kv_set.response": {
            change_id?: string;
            /** @description Why it has no vector now. */
            embed_warning?: string;
            embedded: boolean;
            expires_at?: components["schemas"]["common"]["$defs"]["moment"];
            id: string;
            key: string;
            /** @description What a person is asked. */
            proposal_id?: string;
            /** @description Secrets that were replaced by markers; absent when there were none. */
            redacted?: components["schemas"]["common"]["$defs"]["findings"];
            status: components["schemas"]["common"]["$defs"]["status"];
            /** @description The sum, of an incr. */
            value?: number;
            version: number;
        };
        /**
         * Statistics
         * @description What an owner's entries amount to.
         */
        "kv_stats.response": {
            embedding_bytes: number;
            entries: number;
            models: {
                dimension: number;
                entries: number;
                model: string;
                provider: string;
            }[];
            quota_bytes: number;
            value_bytes: number;
        };
        /**
         * Messages
         * @description Messages to take in.
         */
        "layer_add.request": {
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * @description Read them for facts; else each is kept as it was said.
             * @default true
             */
            infer?: boolean;
            messages: {
                /** @description When it was said. */
                at?: components["schemas"]["common"]["$defs"]["moment"];
                content: string;
                /** @description Who said it. */
                name?: string;
                role: string;
            }[];
            metadata?: components["schemas"]["common"]["$defs"]["metadata"];
            session_id?: components["schemas"]["common"]["$defs"]["session_id"];
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Event
         * @description What became of messages.
         */
        "layer_add.response": {
            at: components["schemas"]["common"]["$defs"]["moment"];
            error?: string;
            event_id: string;
            /** @description Facts that the messages took back. */
            forgotten: string[];
            /** @description Proposals that wait for a person. */
            held: string[];
            memories: string[];
            /** @enum {unknown} */
            status: "pending" | "done" | "failed";
            /** @description The memories of the messages themselves. */
            turns: string[];
        };
        /**
         * Event
         * @description What became of messages.
         */
        "layer_event.response": components["schemas"]["layer_add.response"];
        /**
         * Question
         * @description What to ask of conversations.
         */
        "layer_recall.request": {
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            min_relevance?: components["schemas"]["recall.request"]["min_relevance"];
            query: string;
            /**
             * @description Whose memories to search; without it, those of user_id, or of all users.
             * @enum {unknown}
             */
            scope?: "user" | "agent" | "user_and_agent" | "all";
            /** @description Which kinds of memory may answer; all, when not given. */
            sources?: ("fact" | "turn" | "note")[];
            /** @default 10 */
            top_k?: number;
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Facts
         * @description What answers, best first.
         */
        "layer_recall.response": {
            facts: {
                id: string;
                /** @enum {unknown} */
                kind: "fact" | "turn" | "note";
                memory: string;
                metadata: Record<string, never>;
                score: number;
            }[];
            recall_id: string;
            sources: ("fact" | "turn" | "note")[];
            verdict: components["schemas"]["common"]["$defs"]["verdict"];
        };
        /**
         * List
         * @description Read live memories in the order of their ids, a page at a time.
         */
        "list.request": {
            /**
             * After
             * @description Start after this id: the `next` of the previous page.
             */
            after?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Agent
             * @description The agent whose memory this is.
             */
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Filter
             * @description Only records for which this holds.
             */
            filter?: components["schemas"]["common"]["$defs"]["filter"];
            /**
             * Include
             * @description Also list memories of these standings.
             */
            include?: components["schemas"]["common"]["$defs"]["include"];
            /**
             * Limit
             * @description At most this many memories.
             * @default 100
             */
            limit?: number;
            /**
             * Order
             * @description By id, which is by time: the oldest first, or the newest.
             * @default oldest
             * @enum {unknown}
             */
            order?: "oldest" | "newest";
            /**
             * Memory types
             * @description Only these types; without it, all four.
             */
            types?: components["schemas"]["common"]["$defs"]["types"];
            /**
             * User
             * @description Exactly this user's memories; without it, all of the agent's.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Listed
         * @description One page of memories.
         */
        "list.response": {
            /**
             * Items
             * @description The memories, ordered by id.
             */
            items: components["schemas"]["record"][];
            /**
             * Next
             * @description The `after` of the next page; absent on the last page.
             */
            next?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Notes
             * @description Remarks about probable mistakes in the request; absent if there are none.
             */
            notes?: components["schemas"]["common"]["$defs"]["notes"];
            /**
             * Total
             * @description The total number of matching memories.
             */
            total: number;
        };
        /**
         * Merge
         * @description Combine several memories into one.
         */
        "merge.request": {
            /**
             * Agent
             * @description The agent whose memory this is.
             */
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Approval required
             * @description Hold the change until a person has approved it.
             */
            approval_required?: components["schemas"]["common"]["$defs"]["approval_required"];
            /**
             * Canonical
             * @description The memory that the others are merged into.
             */
            canonical: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Duplicates
             * @description The memories to merge into it.
             */
            duplicates: components["schemas"]["common"]["$defs"]["ids"];
            /**
             * If version
             * @description Merge only if this is still the canonical memory's current version.
             */
            if_version?: components["schemas"]["common"]["$defs"]["version"];
            /**
             * Reasoning
             * @description Why the caller wants this. A reviewer sees it, and the change keeps it.
             */
            reasoning?: components["schemas"]["common"]["$defs"]["reasoning"];
            /**
             * Strategy
             * @description How the surviving memory is built.
             * @default keep_canonical
             */
            strategy?: components["schemas"]["common"]["$defs"]["strategy"];
            /**
             * User
             * @description Merge only this user's memories; without it, any of the agent's.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Merged
         * @description The receipt of a merge.
         */
        "merge.response": {
            /**
             * Approval address
             * @description Where a person can review a held change; null if none is held or no console is configured.
             */
            approval_url?: components["schemas"]["common"]["$defs"]["approval_url"];
            /**
             * Canonical
             * @description The memory that survives.
             */
            canonical: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Change
             * @description The committed change, for undo; absent if nothing was changed.
             */
            change_id?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Degraded
             * @description Parts of the request that were not carried out, by name.
             */
            degraded: components["schemas"]["common"]["$defs"]["degraded"];
            /**
             * Merged count
             * @description The number of memories that ended; 0 while the change is held.
             */
            merged_count: number;
            /**
             * Merged
             * @description The memories that ended; empty while the change is held.
             */
            merged_ids: components["schemas"]["common"]["$defs"]["ids"];
            /**
             * Outcomes
             * @description The outcome in each store.
             */
            outcomes: components["schemas"]["common"]["$defs"]["outcomes"];
            /**
             * Pending approval
             * @description True while the change is held for a person.
             */
            pending_approval: boolean;
            /**
             * Proposal
             * @description The proposal of a held change; absent if none is held.
             */
            proposal_id?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Rule
             * @description The rule that holds it; absent if none does.
             */
            rule?: components["schemas"]["common"]["$defs"]["rule_name"];
            /**
             * Status
             * @description The status of the write.
             */
            status: components["schemas"]["common"]["$defs"]["status"];
            /**
             * Stores
             * @description The stores that have the change; empty while it is held.
             */
            stores: components["schemas"]["common"]["$defs"]["store_names"];
            /**
             * Strategy used
             * @description The strategy that was applied.
             */
            strategy_used: components["schemas"]["common"]["$defs"]["strategy"];
            /**
             * Version
             * @description Its current version.
             */
            version: components["schemas"]["common"]["$defs"]["version"];
            /**
             * Would merge
             * @description The memories that an approval will end; absent if the change was made.
             */
            would_merge_ids?: components["schemas"]["common"]["$defs"]["ids"];
        };
        /**
         * Problem
         * @description The shape of every error.
         */
        problem: {
            /**
             * Code
             * @description The kind of error; stable, for programs.
             * @enum {unknown}
             */
            code: "internal" | "validation_error" | "invalid_json" | "unknown_operation" | "too_large" | "too_slow" | "unsupported_media_type" | "method_not_allowed" | "wrong_type" | "value_too_large" | "unauthenticated" | "forbidden" | "misdirected" | "not_found" | "conflict" | "idempotency_conflict" | "too_many_affected" | "quota_exceeded" | "refused_by_policy" | "approval_pending" | "budget_exceeded" | "rate_limited" | "overloaded" | "secret_leakage" | "capability_unsupported" | "vector_unsupported" | "embedder_not_configured" | "dimension_mismatch" | "store_error" | "store_unavailable" | "store_busy" | "store_corrupt" | "store_newer" | "space_mismatch" | "unsafe_engine" | "embedder_failed";
            /**
             * Detail
             * @description One sentence, for people.
             */
            detail: string;
            /**
             * Field
             * @description Dotted path of the invalid value in the request; array positions as numbers.
             */
            field?: string;
            /**
             * Fix
             * @description How to fix it.
             */
            fix?: string;
        };
        /**
         * Profile
         * @description Read what is known about a person, by slot.
         */
        "profile.request": {
            /**
             * Agent
             * @description The agent whose memory this is.
             */
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * User
             * @description The person; without it, the agent's own memories, which belong to no user.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Profile
         * @description The slots of a person, each with its live values and its history.
         */
        "profile.response": {
            /**
             * At
             * @description When the profile was read.
             */
            at: number;
            /**
             * Slots
             * @description The slots by kind and name.
             */
            slots: components["schemas"]["profile.response"]["$defs"]["slot"][];
            /**
             * Unsorted
             * @description The number of live memories without a slot.
             */
            unsorted: number;
            $defs: {
                /**
                 * Slot
                 * @description What is known about one thing.
                 */
                slot: {
                    /**
                     * Conflict
                     * @description Whether live memories give different values where only one can hold.
                     */
                    conflict: boolean;
                    /**
                     * History
                     * @description Earlier values, newest first.
                     */
                    history: components["schemas"]["profile.response"]["$defs"]["past"][];
                    /**
                     * Kind
                     * @description The kind of fact.
                     */
                    kind: string;
                    /**
                     * Slot
                     * @description The name of the slot, such as diet or home.
                     */
                    slot: string;
                    /**
                     * Subject
                     * @description Whom it is about; absent for general facts.
                     */
                    subject?: string;
                    /**
                     * Values
                     * @description The live values, newest first.
                     */
                    values: components["schemas"]["profile.response"]["$defs"]["value"][];
                };
                /**
                 * Value
                 * @description A live value of a slot.
                 */
                value: {
                    /**
                     * Age
                     * @description The milliseconds since then.
                     */
                    age_ms: number;
                    /**
                     * Content
                     * @description What the memory says.
                     */
                    content: components["schemas"]["common"]["$defs"]["content"];
                    /**
                     * Id
                     * @description The memory that gives it.
                     */
                    id: components["schemas"]["common"]["$defs"]["id"];
                    /**
                     * Lender
                     * @description The agent that lends it; absent for a memory of the agent that asks.
                     */
                    lender?: components["schemas"]["common"]["$defs"]["agent_id"];
                    /**
                     * Pinned
                     * @description Whether it is always part of the context.
                     */
                    pinned: boolean;
                    /**
                     * Since
                     * @description When it happened, or was written.
                     */
                    since: number;
                    /**
                     * Source
                     * @description Where the memory comes from.
                     */
                    source?: string;
                    /**
                     * Trust
                     * @description How far its source is trusted.
                     */
                    trust: components["schemas"]["common"]["$defs"]["trust"];
                    /**
                     * Value
                     * @description The value in a few words, if it is known.
                     */
                    value?: string;
                    /**
                     * Version
                     * @description The version of the memory.
                     */
                    version: components["schemas"]["common"]["$defs"]["version"];
                };
                /**
                 * Past value
                 * @description A value that the slot had before.
                 */
                past: {
                    /**
                     * Content
                     * @description What it said; absent if it was erased.
                     */
                    content?: components["schemas"]["common"]["$defs"]["content"];
                    /**
                     * Id
                     * @description The memory that gave it.
                     */
                    id: components["schemas"]["common"]["$defs"]["id"];
                    /**
                     * Reason
                     * @description How it ended.
                     */
                    reason?: string;
                    /**
                     * Since
                     * @description When it began.
                     */
                    since: number;
                    /**
                     * Until
                     * @description When it ended.
                     */
                    until?: number;
                    /**
                     * Value
                     * @description The value in a few words, if it is known.
                     */
                    value?: string;
                    /**
                     * Version
                     * @description The version of the memory.
                     */
                    version: components["schemas"]["common"]["$defs"]["version"];
                };
            };
        };
        /**
         * Promote
         * @description Make long-term what short-term memory has worth keeping, and archive what is cold there.
         */
        "promote.request": {
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /** @description Report what would be done and change nothing. */
            dry_run?: boolean;
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
            /** @description How many of the newest memories of each user are short-term; 0: only those with the tag; default: the settings, else 50. */
            window?: number;
        };
        /**
         * Promotion
         * @description What one round did.
         */
        "promote.response": {
            archived: string[];
            /** @description How many short-term memories there were. */
            memories: number;
            promoted: {
                id: string;
                /** @description The semantic memory; absent in a rehearsal. */
                into?: string;
            }[];
            /** @description Those that a rule leaves as they are. */
            refused: string[];
            /** @description Those that wait for a person. */
            staged: string[];
        };
        /**
         * Proposal
         * @description Show one proposal with everything needed to decide it.
         */
        "proposal.request": {
            /**
             * Agent
             * @description Only this agent; without it, all agents of the tenant.
             */
            agent_id?: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Proposal
             * @description The proposal.
             */
            proposal_id: components["schemas"]["common"]["$defs"]["id"];
            /**
             * User
             * @description Only exactly this user.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Reviewed
         * @description A proposal with the details for a reviewer.
         */
        "proposal.response": {
            /**
             * Age
             * @description Its age in milliseconds.
             */
            age_ms: number;
            /**
             * Difference
             * @description Its effect on the current memory.
             */
            diff: {
                /**
                 * Added
                 * @description Memories that would be new.
                 */
                added: {
                    /**
                     * Fields
                     * @description Its content.
                     */
                    fields: components["schemas"]["proposal.response"]["$defs"]["fields"];
                    /**
                     * Identity
                     * @description The memory.
                     */
                    id: components["schemas"]["common"]["$defs"]["id"];
                    /**
                     * Version
                     * @description The version.
                     */
                    version: components["schemas"]["common"]["$defs"]["version"];
                }[];
                /**
                 * Modified
                 * @description Memories that would change.
                 */
                modified: {
                    /**
                     * Added
                     * @description Fields that would be added.
                     */
                    added: components["schemas"]["proposal.response"]["$defs"]["fields"];
                    /**
                     * From version
                     * @description The version that is current now.
                     */
                    from_version: components["schemas"]["common"]["$defs"]["version"];
                    /**
                     * Identity
                     * @description The memory.
                     */
                    id: components["schemas"]["common"]["$defs"]["id"];
                    /**
                     * Modified
                     * @description Fields that would change.
                     */
                    modified: {
                        /**
                         * After
                         * @description Its new content.
                         */
                        after: unknown;
                        /**
                         * Before
                         * @description Its current content.
                         */
                        before: unknown;
                        /**
                         * Field
                         * @description Its path.
                         */
                        field: string;
                        /**
                         * Segments
                         * @description A word diff, as mark and text: = unchanged, - removed, + added.
                         */
                        segments?: string[][];
                    }[];
                    /**
                     * Removed
                     * @description Fields that would be removed.
                     */
                    removed: components["schemas"]["proposal.response"]["$defs"]["fields"];
                    /**
                     * Version
                     * @description The version.
                     */
                    version: components["schemas"]["common"]["$defs"]["version"];
                }[];
                /**
                 * Removed
                 * @description Memories that would end or be erased.
                 */
                removed: {
                    /**
                     * Erased
                     * @description Whether it would be erased.
                     */
                    erased: boolean;
                    /**
                     * Fields
                     * @description Its current content.
                     */
                    fields: components["schemas"]["proposal.response"]["$defs"]["fields"];
                    /**
                     * Identity
                     * @description The memory.
                     */
                    id: components["schemas"]["common"]["$defs"]["id"];
                    /**
                     * Into
                     * @description What would replace it.
                     */
                    into?: components["schemas"]["common"]["$defs"]["id"];
                    /**
                     * Reason
                     * @description Why it would end.
                     */
                    reason: components["schemas"]["common"]["$defs"]["reason"];
                    /**
                     * Version
                     * @description The version.
                     */
                    version?: components["schemas"]["common"]["$defs"]["version"];
                }[];
            };
            /**
             * Proposal
             * @description The proposal.
             */
            proposal: components["schemas"]["common"]["$defs"]["proposal"];
            /**
             * Request
             * @description The remember that was held, to be edited; absent for other operations.
             */
            request?: components["schemas"]["remember.request"];
            /**
             * Seen
             * @description A digest of this view; send it with the decision.
             */
            seen: string;
            /**
             * Similar
             * @description Live memories with similar content.
             */
            similar: components["schemas"]["record"][];
            $defs: {
                /**
                 * Fields
                 * @description The fields of a memory, by path; hidden characters are shown.
                 */
                fields: Record<string, never>;
            };
        };
        /**
         * Proposals
         * @description List held changes, in the order of creation or the riskiest first.
         */
        "proposals.request": {
            /**
             * After
             * @description Continue after this proposal.
             */
            after?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Agent
             * @description Only this agent; without it, all agents of the tenant.
             */
            agent_id?: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Batch
             * @description Only this batch.
             */
            batch?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * By risk
             * @description The riskiest first, and of those the newest, instead of the order of creation.
             * @default false
             */
            by_risk?: boolean;
            /**
             * Held by
             * @description Only changes that this rule held.
             */
            held_by?: string;
            /**
             * Limit
             * @description At most this many.
             * @default 100
             */
            limit?: number;
            /**
             * States
             * @description Only proposals in these states.
             * @default [
             *       "pending",
             *       "stale"
             *     ]
             */
            states?: components["schemas"]["common"]["$defs"]["state"][];
            /**
             * Text
             * @description Only proposals that contain this text, in any case.
             */
            text?: string;
            /**
             * User
             * @description Only exactly this user.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Proposals
         * @description A page of proposals.
         */
        "proposals.response": {
            /**
             * Items
             * @description In the order of creation, or the riskiest first.
             */
            items: components["schemas"]["common"]["$defs"]["proposal"][];
            /**
             * Next
             * @description The `after` of the next page; absent on the last.
             */
            next?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Total
             * @description The total number on all pages.
             */
            total: number;
        };
        /**
         * Recall
         * @description Find memories that answer a query.
         */
        "recall.request": {
            /**
             * Agent
             * @description The agent whose memory this is.
             */
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Approval required
             * @description Answer only once a person has approved this recall.
             */
            approval_required?: components["schemas"]["common"]["$defs"]["approval_required"];
            /**
             * As of
             * @description Recall from the memory as it was at this moment. Epoch milliseconds.
             */
            as_of?: components["schemas"]["common"]["$defs"]["moment"];
            /**
             * Deduplication
             * @description What to do with results that repeat each other.
             */
            dedup?: {
                /**
                 * Mode
                 * @description drop: remove lower-ranked repetitions; merge: list them under the best; keep: show all.
                 * @enum {unknown}
                 */
                mode: "drop" | "merge" | "keep";
                /**
                 * Threshold
                 * @description The vector similarity from which two results are repetitions.
                 * @default 0.95
                 */
                threshold?: number;
            };
            /**
             * Explain
             * @description Show the signals of every result, the threshold and the near misses.
             * @default false
             */
            explain?: boolean;
            /**
             * Filter
             * @description Only records for which this holds.
             */
            filter?: components["schemas"]["common"]["$defs"]["filter"];
            /**
             * Fresher than
             * @description Only memories created within this many days.
             */
            fresher_than_days?: number;
            /**
             * Fusion
             * @description How rankings are fused: those of several stores; with legs, those by vector and by text in one store.
             * @default rrf
             */
            fusion?: components["schemas"]["common"]["$defs"]["fusion"];
            /**
             * Hops
             * @description How far to follow links between memories; linked results score higher, and a graph store adds linked memories.
             * @default 0
             */
            hops?: number;
            /**
             * Include
             * @description Also recall memories of these standings.
             */
            include?: components["schemas"]["common"]["$defs"]["include"];
            /**
             * How many
             * @description At most this many results.
             * @default 5
             */
            k?: number;
            /**
             * Most tokens
             * @description Trim the results to this many tokens of content; a token is four bytes of UTF-8.
             */
            max_tokens?: number;
            /**
             * Least relevance
             * @description The relevance threshold below which nothing is returned: auto, off, or a number from 0 to 1.
             * @default auto
             */
            min_relevance?: string | number;
            /**
             * Query
             * @description The question or search text; not blank.
             */
            query: string;
            /**
             * Quorum
             * @description Only results that at least this many stores returned.
             * @default 1
             */
            quorum_k?: number;
            /**
             * Rank weights
             * @description Weights of the ranker's signals.
             */
            rank?: {
                /**
                 * Frequency
                 * @description Weight of how often a memory was recalled.
                 * @default 0
                 */
                frequency?: number;
                /**
                 * Half-life
                 * @description Recency halves after this many days.
                 * @default 30
                 */
                half_life_days?: number;
                /**
                 * Recency
                 * @description Weight of recency.
                 * @default 0
                 */
                recency?: number;
                /**
                 * Semantic
                 * @description Weight of relevance.
                 * @default 1
                 */
                semantic?: number;
                /**
                 * Source
                 * @description Weight of the source's trust.
                 * @default 0
                 */
                source?: number;
            };
            /**
             * Run
             * @description The run that asks; it is noted with the recall.
             */
            run_id?: components["schemas"]["common"]["$defs"]["run_id"];
            /**
             * Scope
             * @description Whose memories: the user's own, the agent's own (those without a user), both, a team's, or all of the agent's. Without it: the user's if a user is named, else all.
             * @enum {unknown}
             */
            scope?: "user" | "agent" | "user_and_agent" | "team" | "all";
            /**
             * Session
             * @description The session that asks; it is noted with the recall and selects no memory.
             */
            session_id?: components["schemas"]["common"]["$defs"]["session_id"];
            /**
             * Sign
             * @description Sign each result with the key of the ledger, for verify_hit.
             * @default false
             */
            sign?: boolean;
            /**
             * Team
             * @description The team whose memories to search, with scope team.
             */
            team?: components["schemas"]["common"]["$defs"]["team"];
            /**
             * Trace
             * @description The trace of the request; it is noted with the recall.
             */
            trace_id?: components["schemas"]["common"]["$defs"]["trace_id"];
            /**
             * Memory types
             * @description Only these types; without it, all four.
             */
            types?: components["schemas"]["common"]["$defs"]["types"];
            /**
             * User
             * @description Exactly this user's memories; without it, all of the agent's.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Recalled
         * @description The results of a recall; empty is a valid answer.
         */
        "recall.response": {
            /**
             * Degraded
             * @description Parts of the request that were not carried out, by name.
             */
            degraded: components["schemas"]["common"]["$defs"]["degraded"];
            /**
             * Floor
             * @description The relevance below which candidates were cut; with explain.
             */
            floor?: number;
            /**
             * Fusion used
             * @description How the rankings were fused.
             */
            fusion_used: components["schemas"]["common"]["$defs"]["fusion"];
            /**
             * Latency
             * @description How long the recall took, in milliseconds.
             */
            latency_ms: number;
            /**
             * Near misses
             * @description Candidates that were cut, and why; with explain.
             */
            near_misses?: components["schemas"]["recall.response"]["$defs"]["near_miss"][];
            /**
             * Notes
             * @description Remarks about probable mistakes in the request; absent if there are none.
             */
            notes?: components["schemas"]["common"]["$defs"]["notes"];
            /**
             * Outcomes
             * @description The outcome in each store.
             */
            outcomes: components["schemas"]["common"]["$defs"]["outcomes"];
            /**
             * Recall
             * @description The id of this recall.
             */
            recall_id: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Results
             * @description The memories that answer, best first.
             */
            results: components["schemas"]["recall.response"]["$defs"]["hit"][];
            /**
             * Stores queried
             * @description The stores that were queried.
             */
            stores_queried: components["schemas"]["common"]["$defs"]["store_names"];
            /**
             * Verdict
             * @description Whether memory answers the query.
             */
            verdict: components["schemas"]["common"]["$defs"]["verdict"];
            $defs: {
                /**
                 * Hit
                 * @description A memory that answers the query, with its score and stores.
                 */
                hit: {
                    /**
                     * Confidence
                     * @description The confidence of the writer.
                     */
                    confidence: components["schemas"]["common"]["$defs"]["confidence"];
                    /**
                     * Content
                     * @description What was remembered.
                     */
                    content: components["schemas"]["common"]["$defs"]["content"];
                    /**
                     * Created at
                     * @description When the memory was first written. Epoch milliseconds.
                     */
                    created_at: components["schemas"]["common"]["$defs"]["moment"];
                    /**
                     * Explanation
                     * @description The signals of the score; with explain.
                     */
                    explain?: {
                        /**
                         * Signals
                         * @description The raw signals of the score, by name.
                         */
                        signals: components["schemas"]["common"]["$defs"]["signals"];
                        /**
                         * Words
                         * @description What each word of the query found, in the order of the query; absent where the policy redacts the memory.
                         */
                        words?: components["schemas"]["recall.response"]["$defs"]["word_match"][];
                    };
                    /**
                     * Identity
                     * @description The memory's id.
                     */
                    id: components["schemas"]["common"]["$defs"]["id"];
                    /**
                     * Lender
                     * @description The agent that lends it; absent for a memory of the agent that asks.
                     */
                    lender?: components["schemas"]["common"]["$defs"]["agent_id"];
                    /**
                     * Metadata
                     * @description The memory's free-form facts.
                     */
                    metadata: components["schemas"]["common"]["$defs"]["metadata"];
                    /**
                     * Occurred at
                     * @description When the event happened. Epoch milliseconds.
                     */
                    occurred_at?: components["schemas"]["common"]["$defs"]["moment"];
                    /**
                     * Score
                     * @description Its score; results are ordered by it.
                     */
                    score: number;
                    /**
                     * Session
                     * @description The conversation or run that it comes from.
                     */
                    session_id?: components["schemas"]["common"]["$defs"]["session_id"];
                    /**
                     * Signed
                     * @description The signature of the ledger's key; with sign.
                     */
                    signed?: {
                        /**
                         * Digest
                         * @description SHA-256 of what this result says of the memory, in hexadecimal.
                         */
                        digest: string;
                        /**
                         * Recall
                         * @description The recall that handed it out.
                         */
                        recall_id: components["schemas"]["common"]["$defs"]["id"];
                        /**
                         * Signature
                         * @description The signature line of a signed note.
                         */
                        signature: string;
                    };
                    /**
                     * Source
                     * @description Where the memory comes from.
                     */
                    source?: string;
                    /**
                     * Source store
                     * @description The first of the stores that returned it.
                     */
                    source_store: string;
                    /**
                     * Stores
                     * @description The stores that returned it.
                     */
                    stores: components["schemas"]["common"]["$defs"]["store_names"];
                    /**
                     * Supporting
                     * @description Other memories that support this one.
                     */
                    supporting: components["schemas"]["common"]["$defs"]["ids"];
                    /**
                     * Tags
                     * @description The memory's labels.
                     */
                    tags: components["schemas"]["common"]["$defs"]["tags"];
                    /**
                     * Trust
                     * @description The trust level of the origin of the memory.
                     */
                    trust: components["schemas"]["common"]["$defs"]["trust"];
                    /**
                     * Memory type
                     * @description The memory's type.
                     */
                    type: components["schemas"]["common"]["$defs"]["type"];
                    /**
                     * User
                     * @description The user the memory belongs to.
                     */
                    user_id?: components["schemas"]["common"]["$defs"]["user_id"];
                    /**
                     * Version
                     * @description The version that was found.
                     */
                    version: components["schemas"]["common"]["$defs"]["version"];
                };
                /**
                 * Word match
                 * @description What a word of the query found in a memory.
                 */
                word_match: {
                    /**
                     * Answered
                     * @description Whether that is near enough to count.
                     */
                    answered: boolean;
                    /**
                     * Match
                     * @description How near the nearest word is: 1 for the same word in the same context.
                     */
                    match: number;
                    /**
                     * Nearest
                     * @description The nearest word of the memory; absent if a word that is compared exactly was not found.
                     */
                    nearest?: string;
                    /**
                     * Weight
                     * @description Its share in the signal `words`; 0 for a word that is compared exactly.
                     */
                    weight: number;
                    /**
                     * Word
                     * @description The word of the query.
                     */
                    word: string;
                };
                /**
                 * Near miss
                 * @description A candidate that was cut, and why.
                 */
                near_miss: {
                    /**
                     * Identity
                     * @description The memory's id.
                     */
                    id: components["schemas"]["common"]["$defs"]["id"];
                    /**
                     * Reason
                     * @description Why it was cut.
                     */
                    reason: string;
                    /**
                     * Score
                     * @description Its score.
                     */
                    score: number;
                    /**
                     * Signals
                     * @description The raw signals of the score, by name.
                     */
                    signals: components["schemas"]["common"]["$defs"]["signals"];
                    /**
                     * Words
                     * @description What each word of the query found, in the order of the query; absent where the policy redacts the memory.
                     */
                    words?: components["schemas"]["recall.response"]["$defs"]["word_match"][];
                };
            };
        };
        /**
         * Recalls
         * @description List recalls, the newest first.
         */
        "recalls.request": {
            /**
             * Agent
             * @description Only this agent; without it, all agents of the tenant.
             */
            agent_id?: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Before
             * @description Continue after this recall.
             */
            before?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Limit
             * @description At most this many.
             * @default 20
             */
            limit?: number;
            /**
             * Memory
             * @description Only recalls that returned this memory.
             */
            memory_id?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Run
             * @description Only recalls of this run.
             */
            run_id?: components["schemas"]["common"]["$defs"]["run_id"];
            /**
             * Session
             * @description Only recalls of this session.
             */
            session_id?: components["schemas"]["common"]["$defs"]["session_id"];
            /**
             * Trace
             * @description Only recalls of this trace.
             */
            trace_id?: components["schemas"]["common"]["$defs"]["trace_id"];
            /**
             * User
             * @description Only exactly this user.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Recall page
         * @description Recalls without their results.
         */
        "recalls.response": {
            /**
             * Items
             * @description The newest first.
             */
            items: {
                /**
                 * Agent
                 * @description The agent whose memory was searched.
                 */
                agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
                /**
                 * At
                 * @description When. Epoch milliseconds.
                 */
                at: components["schemas"]["common"]["$defs"]["moment"];
                /**
                 * Caller
                 * @description The requester.
                 */
                caller: string;
                /**
                 * Count
                 * @description The number of memories that it returned.
                 */
                count: number;
                /**
                 * Query
                 * @description The query, without secrets; absent after a memory that it found was erased.
                 */
                query?: string;
                /**
                 * Recall
                 * @description The recall.
                 */
                recall_id: components["schemas"]["common"]["$defs"]["id"];
                /**
                 * Run
                 * @description The run that asked, if it was named.
                 */
                run_id?: components["schemas"]["common"]["$defs"]["run_id"];
                /**
                 * Session
                 * @description The session that asked, if it was named.
                 */
                session_id?: components["schemas"]["common"]["$defs"]["session_id"];
                /**
                 * Trace
                 * @description The trace of the request, if it was named.
                 */
                trace_id?: components["schemas"]["common"]["$defs"]["trace_id"];
                /**
                 * User
                 * @description The user of the request.
                 */
                user_id?: components["schemas"]["common"]["$defs"]["user_id"];
                /**
                 * Verdict
                 * @description Whether memory answered.
                 */
                verdict: components["schemas"]["common"]["$defs"]["verdict"];
            }[];
        };
        /**
         * Record
         * @description One version of a memory.
         */
        record: {
            /**
             * Agent
             * @description The agent whose memory this is.
             */
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Confidence
             * @description The confidence of the writer.
             */
            confidence: components["schemas"]["common"]["$defs"]["confidence"];
            /**
             * Content
             * @description What was remembered.
             */
            content: components["schemas"]["common"]["$defs"]["content"];
            /**
             * Created at
             * @description When the memory was first written. Epoch milliseconds.
             */
            created_at: components["schemas"]["common"]["$defs"]["moment"];
            /**
             * Derived from
             * @description The memories that this one was derived from.
             */
            derived_from: components["schemas"]["common"]["$defs"]["ids"];
            /**
             * Expires at
             * @description From this time on the memory is not returned. Epoch milliseconds.
             */
            expires_at?: components["schemas"]["common"]["$defs"]["moment"];
            /**
             * Identity
             * @description The memory's id.
             */
            id: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Merged from
             * @description The memories that were merged into this one.
             */
            merged_from: components["schemas"]["common"]["$defs"]["ids"];
            /**
             * Metadata
             * @description Free-form facts about the memory.
             */
            metadata: components["schemas"]["common"]["$defs"]["metadata"];
            /**
             * Occurred at
             * @description When the event happened. Epoch milliseconds.
             */
            occurred_at?: components["schemas"]["common"]["$defs"]["moment"];
            /**
             * Recalled at
             * @description When the memory was last recalled. Epoch milliseconds.
             */
            recalled_at?: components["schemas"]["common"]["$defs"]["moment"];
            /**
             * Session
             * @description The conversation or run that it comes from.
             */
            session_id?: components["schemas"]["common"]["$defs"]["session_id"];
            /**
             * Source
             * @description Where the memory comes from.
             */
            source?: string;
            /**
             * Standing
             * @description How the memory takes part in recall.
             */
            standing: components["schemas"]["common"]["$defs"]["standing"];
            /**
             * Supersedes
             * @description The memories this one replaced.
             */
            supersedes: components["schemas"]["common"]["$defs"]["ids"];
            /**
             * Tags
             * @description Short labels.
             */
            tags: components["schemas"]["common"]["$defs"]["tags"];
            /**
             * Trust
             * @description The trust level of the origin of the memory.
             */
            trust: components["schemas"]["common"]["$defs"]["trust"];
            /**
             * Memory type
             * @description The memory's type.
             */
            type: components["schemas"]["common"]["$defs"]["type"];
            /**
             * Updated at
             * @description When this version was written. Epoch milliseconds.
             */
            updated_at: components["schemas"]["common"]["$defs"]["moment"];
            /**
             * User
             * @description The user the memory belongs to; absent when it is the agent's own.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
            /**
             * Version
             * @description The number of this version.
             */
            version: components["schemas"]["common"]["$defs"]["version"];
        };
        /**
         * Remember
         * @description Store one memory.
         */
        "remember.request": {
            /**
             * Agent
             * @description The agent whose memory this is.
             */
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Approval required
             * @description Hold the write until a person has approved it.
             * @default false
             */
            approval_required?: boolean;
            /**
             * Confidence
             * @description The confidence of the writer, 0 to 1.
             * @default 1
             */
            confidence?: components["schemas"]["common"]["$defs"]["confidence"];
            /**
             * Content
             * @description The text to remember, not blank; or an object if the type is procedural.
             */
            content: components["schemas"]["common"]["$defs"]["content"];
            /**
             * Derived from
             * @description A memory, or several, that this one was derived from; its trust is at most theirs.
             */
            derived_from?: string | components["schemas"]["common"]["$defs"]["id"][];
            /**
             * Expires at
             * @description From this time on the memory is not returned. Epoch milliseconds, in the future.
             */
            expires_at?: components["schemas"]["common"]["$defs"]["moment"];
            /**
             * Identity
             * @description The memory's id; generated by default.
             */
            id?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Idempotency key
             * @description A retry with the same key and body gives the first receipt and writes nothing.
             */
            idempotency_key?: string;
            /**
             * If version
             * @description Replace the memory `id` only if this is still its current version.
             */
            if_version?: components["schemas"]["common"]["$defs"]["version"];
            /**
             * Kind
             * @description The kind of fact; without it, the content is read for one. Kept as `metadata.fact.kind`.
             * @enum {unknown}
             */
            kind?: "constraint" | "preference" | "identity" | "relation" | "possession" | "plan" | "event" | "procedure" | "decision" | "configuration";
            /**
             * Metadata
             * @description Free-form facts about the memory, at most 65,536 bytes of JSON; filters can read inside.
             * @default {}
             */
            metadata?: components["schemas"]["common"]["$defs"]["metadata"];
            /**
             * Occurred at
             * @description When the event happened, not when it was stored. Epoch milliseconds.
             */
            occurred_at?: components["schemas"]["common"]["$defs"]["moment"];
            /**
             * Pinned
             * @description Always part of the context that is built for a prompt; kept as `metadata.fact.pinned`.
             */
            pinned?: boolean;
            /**
             * Privacy intent
             * @description A rule for this request; it can hold or refuse what the policy would allow, never the reverse. It applies if all its conditions hold, or always if it has none.
             */
            privacy_intent?: {
                /**
                 * Contains a secret
                 * @description The request contains a credential.
                 * @constant
                 */
                contains_secret?: true;
                /**
                 * Content contains
                 * @description Any of these words, in any case.
                 */
                content_contains?: components["schemas"]["remember.request"]["$defs"]["words"];
                /**
                 * Looks like an instruction
                 * @description The memory addresses the model that will read it.
                 * @constant
                 */
                looks_like_instruction?: true;
                /**
                 * Source
                 * @description Any of these sources; * matches any characters.
                 */
                source?: components["schemas"]["remember.request"]["$defs"]["words"];
                /**
                 * Memory types
                 * @description Any of these types.
                 */
                type?: components["schemas"]["common"]["$defs"]["types"];
                /**
                 * Verdict
                 * @description The action if the rule applies.
                 * @default hold
                 * @enum {unknown}
                 */
                verdict?: "hold" | "refuse";
            };
            /**
             * Reasoning
             * @description Why the caller wants this. A reviewer sees it, and the change keeps it.
             */
            reasoning?: components["schemas"]["common"]["$defs"]["reasoning"];
            /**
             * Session
             * @description The conversation or run that this comes from.
             */
            session_id?: components["schemas"]["common"]["$defs"]["session_id"];
            /**
             * Slot
             * @description What the fact is about: diet, home, employer. Kept as `metadata.fact.slot`.
             */
            slot?: string;
            /**
             * Source
             * @description Where this comes from: a person, a tool, a document.
             */
            source?: string;
            /**
             * Supersedes
             * @description A memory, or several, that this one replaces; they end in the same change.
             */
            supersedes?: string | components["schemas"]["common"]["$defs"]["id"][];
            /**
             * Tags
             * @description Short labels, each once.
             * @default []
             */
            tags?: components["schemas"]["common"]["$defs"]["tags"];
            /**
             * Team
             * @description Store it for this team instead of the agent alone.
             */
            team?: components["schemas"]["common"]["$defs"]["team"];
            /**
             * Trust
             * @description A trust level lower than the policy gives to its source.
             */
            trust?: components["schemas"]["common"]["$defs"]["trust"];
            /**
             * Memory type
             * @description semantic: a fact; episodic: an event; procedural: how to do something; emotional: a feeling.
             */
            type: components["schemas"]["common"]["$defs"]["type"];
            /**
             * User
             * @description The user this memory belongs to; without it, the memory is the agent's own.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
            $defs: {
                /**
                 * Words
                 * @description Any of these.
                 */
                words: string[];
            };
        };
        /**
         * Remembered
         * @description The receipt of a remember.
         */
        "remember.response": {
            /**
             * Approval address
             * @description Where a person can review a held change; null if none is held or no console is configured.
             */
            approval_url?: components["schemas"]["common"]["$defs"]["approval_url"];
            /**
             * Change
             * @description The committed change, for undo; absent if nothing was changed.
             */
            change_id?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Degraded
             * @description Parts of the request that were not carried out, by name.
             */
            degraded: components["schemas"]["common"]["$defs"]["degraded"];
            /**
             * Identity
             * @description The memory's id; that of the existing memory if the status is duplicate.
             */
            id: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Outcomes
             * @description The outcome in each store.
             */
            outcomes: components["schemas"]["common"]["$defs"]["outcomes"];
            /**
             * Pending approval
             * @description True while the change is held for a person.
             */
            pending_approval: boolean;
            /**
             * Proposal
             * @description The proposal of a held change; absent if none is held.
             */
            proposal_id?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Redacted
             * @description Secrets that were redacted from the request; absent if there were none.
             */
            redacted?: components["schemas"]["common"]["$defs"]["findings"];
            /**
             * Rule
             * @description The rule that holds it; absent if none does.
             */
            rule?: components["schemas"]["common"]["$defs"]["rule_name"];
            /**
             * Similar
             * @description Memories that may be duplicates.
             */
            similar?: components["schemas"]["common"]["$defs"]["ids"];
            /**
             * Status
             * @description The status of the write.
             */
            status: components["schemas"]["common"]["$defs"]["status"];
            /**
             * Stored at
             * @description When the memory was stored. Epoch milliseconds.
             */
            stored_at: components["schemas"]["common"]["$defs"]["moment"];
            /**
             * Stores
             * @description The stores that have the change; empty while it is held.
             */
            stores: components["schemas"]["common"]["$defs"]["store_names"];
            /**
             * Version
             * @description The version that is now current.
             */
            version: components["schemas"]["common"]["$defs"]["version"];
        };
        /**
         * Revert rule
         * @description Revert everything that a learned rule allowed, and turn it off.
         */
        "revert_rule.request": {
            /**
             * Name
             * @description The rule.
             */
            name: components["schemas"]["common"]["$defs"]["rule_name"];
        };
        /**
         * Reverted
         * @description What was reverted.
         */
        "revert_rule.response": {
            /**
             * Change
             * @description The change that reverted them, for undo; absent if there was none.
             */
            change_id?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Edition
             * @description The edition in force from now on.
             */
            edition: number;
            /**
             * Ended
             * @description Memories that are no longer live.
             */
            ended_ids: components["schemas"]["common"]["$defs"]["ids"];
            /**
             * Kept
             * @description Changes that could not be reverted, because memory has changed since.
             */
            kept_ids: components["schemas"]["common"]["$defs"]["ids"];
            /**
             * Outcomes
             * @description The outcome in each store.
             */
            outcomes: components["schemas"]["common"]["$defs"]["outcomes"];
            /**
             * Reverted
             * @description The changes that were reverted.
             */
            reverted_ids: components["schemas"]["common"]["$defs"]["ids"];
            /**
             * Rule
             * @description The rule, now turned off.
             */
            rule: components["schemas"]["common"]["$defs"]["rule_name"];
            /**
             * Status
             * @description The status of the write; absent if there was nothing to revert.
             */
            status?: components["schemas"]["common"]["$defs"]["status"];
        };
        /**
         * Review
         * @description The decision of a reviewer, with the proposal and what was seen of it.
         */
        "review.request": components["schemas"]["governance_response"];
        /**
         * Decided
         * @description The receipt.
         */
        "review.response": components["schemas"]["decide.response"];
        /**
         * Rules
         * @description Show the policy in force, its editions and suggested rules.
         */
        "rules.request": Record<string, never>;
        /**
         * Rule book
         * @description The policy in force.
         */
        "rules.response": {
            /**
             * Base
             * @description The rules of the profile or file, after those.
             */
            base: components["schemas"]["common"]["$defs"]["rules"];
            /**
             * Budgets
             * @description How many memories may be recalled, by `agent:NAME` or `caller:NAME`; all matches apply.
             * @default {}
             */
            budget?: {
                [key: string]: {
                    /**
                     * Per day
                     * @description Memories per day.
                     */
                    per_day?: number;
                    /**
                     * Per minute
                     * @description Memories per minute.
                     */
                    per_minute?: number;
                };
            };
            /**
             * Default
             * @description The verdict for a change that no rule matches.
             */
            default: components["schemas"]["common"]["$defs"]["judgement"];
            /**
             * Default trust
             * @description The trust of sources that no pattern matches.
             */
            default_trust: components["schemas"]["common"]["$defs"]["trust"];
            /**
             * Edition
             * @description The edition in force; 0 if no rules were ever set.
             */
            edition: number;
            /**
             * Editions
             * @description Every edition, newest first.
             */
            editions: {
                /**
                 * At
                 * @description When it took effect. Epoch milliseconds.
                 */
                at: components["schemas"]["common"]["$defs"]["moment"];
                /**
                 * By
                 * @description The author.
                 */
                by: string;
                /**
                 * Number
                 * @description From 1.
                 */
                number: number;
                /**
                 * Rules
                 * @description All of them.
                 */
                rules: components["schemas"]["common"]["$defs"]["rules"];
            }[];
            /**
             * Four eyes
             * @description Whether the proposer of a change cannot approve it.
             * @default false
             */
            four_eyes?: boolean;
            /**
             * Given
             * @description The rules that people set; they come first.
             */
            given: components["schemas"]["common"]["$defs"]["rules"];
            /**
             * Learned
             * @description Whether learned rules are in effect.
             */
            learned: boolean;
            /**
             * Pending days
             * @description How long a proposal is pending before it expires.
             */
            pending_days: number;
            /**
             * Profile
             * @description The profile that the policy builds on.
             */
            profile: string;
            /**
             * Secrets
             * @description The action for secrets, by scope; the first match decides.
             * @default {}
             */
            secrets?: {
                [key: string]: "redact" | "hold" | "refuse";
            };
            /**
             * Suggestions
             * @description Rules suggested by decisions, the best supported first.
             */
            suggestions: {
                /**
                 * Evidence
                 * @description The proposals whose decisions support it.
                 */
                evidence: components["schemas"]["common"]["$defs"]["ids"];
                /**
                 * Rule
                 * @description The rule.
                 */
                rule: components["schemas"]["common"]["$defs"]["rule"];
            }[];
            /**
             * Trust
             * @description The trust of sources, by pattern; the first match decides.
             * @default {}
             */
            trust?: {
                [key: string]: components["schemas"]["common"]["$defs"]["trust"];
            };
        };
        /**
         * Set rules
         * @description Put a list of rules in force, in place of the rules that people set before.
         */
        "set_rules.request": {
            /**
             * If edition
             * @description Only if this edition is still in force; 0 for none.
             */
            if_edition?: number;
            /**
             * Rules
             * @description All rules, in order; an empty list removes the previous ones.
             */
            rules: components["schemas"]["common"]["$defs"]["rules"];
        };
        /**
         * Rule book
         * @description The policy in force from now on.
         */
        "set_rules.response": components["schemas"]["rules.response"];
        /**
         * Share
         * @description Let another agent of the tenant recall memories of this one, until the grant is revoked. At least one of ids, types and tags is required; a memory is lent if it meets each condition that is given.
         */
        "share.request": {
            /**
             * Agent
             * @description The agent that lends.
             */
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Approval required
             * @description Hold the change until a person has approved it.
             */
            approval_required?: components["schemas"]["common"]["$defs"]["approval_required"];
            /**
             * Borrower
             * @description The agent that may recall them.
             */
            borrower: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Expires at
             * @description When the grant ends by itself. Epoch milliseconds, in the future.
             */
            expires_at?: components["schemas"]["common"]["$defs"]["moment"];
            /**
             * Identities
             * @description Only these memories.
             */
            ids?: components["schemas"]["common"]["$defs"]["ids"];
            /**
             * Reasoning
             * @description Why the caller wants this. A reviewer sees it, and the change keeps it.
             */
            reasoning?: components["schemas"]["common"]["$defs"]["reasoning"];
            /**
             * Tags
             * @description Only memories with one of these labels.
             */
            tags?: components["schemas"]["common"]["$defs"]["tags"];
            /**
             * Memory types
             * @description Only memories of these types.
             */
            types?: components["schemas"]["common"]["$defs"]["types"];
            /**
             * User
             * @description Lend memories of this user; without it, memories that belong to no user.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Shared
         * @description The receipt of a share.
         */
        "share.response": {
            /**
             * Approval address
             * @description Where a person can review a held change; null if none is held or no console is configured.
             */
            approval_url?: components["schemas"]["common"]["$defs"]["approval_url"];
            /**
             * Borrower
             * @description The agent that may recall what the grant lends.
             */
            borrower: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Change
             * @description The committed change, for undo; absent if nothing was changed.
             */
            change_id?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Degraded
             * @description Parts of the request that were not carried out, by name.
             */
            degraded: components["schemas"]["common"]["$defs"]["degraded"];
            /**
             * Outcomes
             * @description The outcome in each store.
             */
            outcomes: components["schemas"]["common"]["$defs"]["outcomes"];
            /**
             * Pending approval
             * @description True while the change is held for a person.
             */
            pending_approval: boolean;
            /**
             * Proposal
             * @description The proposal of a held change; absent if none is held.
             */
            proposal_id?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Rule
             * @description The rule that holds it; absent if none does.
             */
            rule?: components["schemas"]["common"]["$defs"]["rule_name"];
            /**
             * Share
             * @description The grant.
             */
            share_id: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Status
             * @description The status of the write; duplicate if the grant is in force already.
             */
            status: components["schemas"]["common"]["$defs"]["status"];
            /**
             * Stores
             * @description The stores that have the change; empty while it is held.
             */
            stores: components["schemas"]["common"]["$defs"]["store_names"];
        };
        /**
         * Shares
         * @description List the grants in force that an agent gave, and those that it was given.
         */
        "shares.request": {
            /**
             * Agent
             * @description The agent that lends or borrows.
             */
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * User
             * @description Only grants that lend memories of this user; without it, all.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Shares
         * @description The grants in force, oldest first.
         */
        "shares.response": {
            /**
             * Items
             * @description The grants.
             */
            items: {
                /**
                 * Agent
                 * @description The agent that lends.
                 */
                agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
                /**
                 * Borrower
                 * @description The agent that may recall them.
                 */
                borrower: components["schemas"]["common"]["$defs"]["agent_id"];
                /**
                 * Created at
                 * @description When the grant was given. Epoch milliseconds.
                 */
                created_at: components["schemas"]["common"]["$defs"]["moment"];
                /**
                 * Expires at
                 * @description When the grant ends by itself. Epoch milliseconds.
                 */
                expires_at?: components["schemas"]["common"]["$defs"]["moment"];
                /**
                 * Identities
                 * @description Only these memories; empty for all that meet the other conditions.
                 */
                ids: components["schemas"]["common"]["$defs"]["ids"];
                /**
                 * Share
                 * @description The grant.
                 */
                share_id: components["schemas"]["common"]["$defs"]["id"];
                /**
                 * Tags
                 * @description Only memories with one of these labels; empty for all.
                 */
                tags: components["schemas"]["common"]["$defs"]["tags"];
                /**
                 * Memory types
                 * @description Only these types; empty for all.
                 */
                types: components["schemas"]["common"]["$defs"]["type"][];
                /**
                 * User
                 * @description The user whose memories are lent; absent for memories that belong to no user.
                 */
                user_id?: components["schemas"]["common"]["$defs"]["user_id"];
            }[];
        };
        /**
         * Test rule
         * @description Report what a rule would have done to past changes; nothing changes.
         */
        "test_rule.request": {
            /**
             * Agent
             * @description The agent whose past changes are tested.
             */
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Days
             * @description The number of days to test.
             * @default 30
             */
            days?: number;
            /**
             * Rule
             * @description The rule.
             */
            rule: components["schemas"]["common"]["$defs"]["rule"];
            /**
             * User
             * @description Only requests of exactly this user.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Trial
         * @description What the rule would have done.
         */
        "test_rule.response": {
            /**
             * Changed
             * @description The number of those with another result.
             */
            changed: number;
            /**
             * Degraded
             * @description Conditions of the rule that are unknown for past changes (they count as not met), and older_changes if only the newest were counted.
             */
            degraded: components["schemas"]["common"]["$defs"]["degraded"];
            /**
             * Matched
             * @description The number of changes that it matches.
             */
            matched: number;
            /**
             * Rule
             * @description The rule.
             */
            rule: components["schemas"]["common"]["$defs"]["rule_name"];
            /**
             * Sample
             * @description The newest matches: changes and proposals.
             */
            sample: components["schemas"]["common"]["$defs"]["ids"];
            /**
             * Summary
             * @description A summary sentence.
             */
            summary: string;
            /**
             * Total
             * @description The number of changes, held ones included.
             */
            total: number;
            /**
             * Verdict
             * @description Its verdict.
             */
            verdict: components["schemas"]["common"]["$defs"]["judgement"];
        };
        /**
         * Trigger
         * @description Take one step of a procedure.
         */
        "trigger.request": {
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * @description What the guards of the transition ask for.
             * @default {}
             */
            facts?: {
                [key: string]: boolean;
            };
            /** @description The transition to take. */
            trigger: string;
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Step
         * @description Where the procedure stands now, and the receipt of the version that says so.
         */
        "trigger.response": {
            receipt: components["schemas"]["remember.response"];
            state: string;
        };
        /**
         * Undo
         * @description Revert one change; the undo is itself a change.
         */
        "undo.request": {
            /**
             * Agent
             * @description The agent whose memory this is.
             */
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Approval required
             * @description Hold the change until a person has approved it.
             */
            approval_required?: components["schemas"]["common"]["$defs"]["approval_required"];
            /**
             * Change
             * @description The change to revert.
             */
            change_id: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Reasoning
             * @description Why the caller wants this. A reviewer sees it, and the change keeps it.
             */
            reasoning?: components["schemas"]["common"]["$defs"]["reasoning"];
            /**
             * User
             * @description Exactly this user's memories; without it, all of the agent's.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Undone
         * @description The receipt of an undo.
         */
        "undo.response": {
            /**
             * Approval address
             * @description Where a person can review a held change; null if none is held or no console is configured.
             */
            approval_url?: components["schemas"]["common"]["$defs"]["approval_url"];
            /**
             * Change
             * @description The change of the undo; undo it to redo. Absent while it is held.
             */
            change_id?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Degraded
             * @description Parts of the request that were not carried out, by name.
             */
            degraded: components["schemas"]["common"]["$defs"]["degraded"];
            /**
             * Ended
             * @description Memories that are no longer live; empty while the undo is held.
             */
            ended_ids: components["schemas"]["common"]["$defs"]["ids"];
            /**
             * Outcomes
             * @description The outcome in each store.
             */
            outcomes: components["schemas"]["common"]["$defs"]["outcomes"];
            /**
             * Pending approval
             * @description True while the change is held for a person.
             */
            pending_approval: boolean;
            /**
             * Proposal
             * @description The proposal of a held change; absent if none is held.
             */
            proposal_id?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Restored
             * @description Memories that are live again or have their former content; empty while the undo is held.
             */
            restored_ids: components["schemas"]["common"]["$defs"]["ids"];
            /**
             * Rule
             * @description The rule that holds it; absent if none does.
             */
            rule?: components["schemas"]["common"]["$defs"]["rule_name"];
            /**
             * Status
             * @description The status of the write.
             */
            status: components["schemas"]["common"]["$defs"]["status"];
            /**
             * Stores
             * @description The stores that have the change; empty while it is held.
             */
            stores: components["schemas"]["common"]["$defs"]["store_names"];
            /**
             * Undone
             * @description The change that was reverted.
             */
            undone: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Would end
             * @description The memories that an approval will end; absent if the undo was done.
             */
            would_end_ids?: components["schemas"]["common"]["$defs"]["ids"];
            /**
             * Would restore
             * @description The memories that an approval will restore; absent if the undo was done.
             */
            would_restore_ids?: components["schemas"]["common"]["$defs"]["ids"];
        };
        /**
         * Unshare
         * @description Revoke a grant at once; an undo of this change gives it again.
         */
        "unshare.request": {
            /**
             * Agent
             * @description The agent that lends.
             */
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Approval required
             * @description Hold the change until a person has approved it.
             */
            approval_required?: components["schemas"]["common"]["$defs"]["approval_required"];
            /**
             * Reasoning
             * @description Why the caller wants this. A reviewer sees it, and the change keeps it.
             */
            reasoning?: components["schemas"]["common"]["$defs"]["reasoning"];
            /**
             * Share
             * @description The grant to revoke.
             */
            share_id: components["schemas"]["common"]["$defs"]["id"];
            /**
             * User
             * @description The user whose memories the grant lends, if it names one; without it, any grant of the agent.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Unshared
         * @description The receipt of a revocation.
         */
        "unshare.response": {
            /**
             * Approval address
             * @description Where a person can review a held change; null if none is held or no console is configured.
             */
            approval_url?: components["schemas"]["common"]["$defs"]["approval_url"];
            /**
             * Borrower
             * @description The agent that may recall what the grant lends.
             */
            borrower: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Change
             * @description The committed change, for undo; absent if nothing was changed.
             */
            change_id?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Degraded
             * @description Parts of the request that were not carried out, by name.
             */
            degraded: components["schemas"]["common"]["$defs"]["degraded"];
            /**
             * Outcomes
             * @description The outcome in each store.
             */
            outcomes: components["schemas"]["common"]["$defs"]["outcomes"];
            /**
             * Pending approval
             * @description True while the change is held for a person.
             */
            pending_approval: boolean;
            /**
             * Proposal
             * @description The proposal of a held change; absent if none is held.
             */
            proposal_id?: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Rule
             * @description The rule that holds it; absent if none does.
             */
            rule?: components["schemas"]["common"]["$defs"]["rule_name"];
            /**
             * Share
             * @description The grant.
             */
            share_id: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Status
             * @description The status of the write; duplicate if the grant is in force already.
             */
            status: components["schemas"]["common"]["$defs"]["status"];
            /**
             * Stores
             * @description The stores that have the change; empty while it is held.
             */
            stores: components["schemas"]["common"]["$defs"]["store_names"];
        };
        /**
         * Why
         * @description Show the results of a recall, with the memories as they were then.
         */
        "why.request": {
            /**
             * Agent
             * @description Only this agent; without it, all agents of the tenant.
             */
            agent_id?: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * Recall
             * @description The recall.
             */
            recall_id: components["schemas"]["common"]["$defs"]["id"];
            /**
             * User
             * @description Only exactly this user.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
        };
        /**
         * Reasons
         * @description The answer of a recall and its memories.
         */
        "why.response": {
            /**
             * Agent
             * @description The agent whose memory was searched.
             */
            agent_id: components["schemas"]["common"]["$defs"]["agent_id"];
            /**
             * As of
             * @description The `as_of` of the recall, if given.
             */
            as_of?: components["schemas"]["common"]["$defs"]["moment"];
            /**
             * At
             * @description When. Epoch milliseconds.
             */
            at: components["schemas"]["common"]["$defs"]["moment"];
            /**
             * Caller
             * @description The requester.
             */
            caller: string;
            /**
             * Feedback
             * @description Feedback on its results, oldest first.
             */
            feedback: components["schemas"]["feedback.response"][];
            /**
             * Query
             * @description The query, without secrets; absent after a memory that it found was erased.
             */
            query?: string;
            /**
             * Recall
             * @description The recall.
             */
            recall_id: components["schemas"]["common"]["$defs"]["id"];
            /**
             * Results
             * @description Best first.
             */
            results: {
                /**
                 * Current
                 * @description Whether this version is still the current one.
                 */
                current: boolean;
                /**
                 * Identity
                 * @description The memory.
                 */
                id: components["schemas"]["common"]["$defs"]["id"];
                /**
                 * Lender
                 * @description The agent that lends it; absent for a memory of the agent that asks.
                 */
                lender?: components["schemas"]["common"]["$defs"]["agent_id"];
                /**
                 * Memory
                 * @description Its content; absent if it was erased since, or is not lent any more.
                 */
                memory?: components["schemas"]["record"];
                /**
                 * Score
                 * @description Its score.
                 */
                score: number;
                /**
                 * Version
                 * @description The version that was returned.
                 */
                version: components["schemas"]["common"]["$defs"]["version"];
            }[];
            /**
             * Run
             * @description The run that asked, if it was named.
             */
            run_id?: components["schemas"]["common"]["$defs"]["run_id"];
            /**
             * Session
             * @description The session that asked, if it was named.
             */
            session_id?: components["schemas"]["common"]["$defs"]["session_id"];
            /**
             * Trace
             * @description The trace of the request, if it was named.
             */
            trace_id?: components["schemas"]["common"]["$defs"]["trace_id"];
            /**
             * User
             * @description The user of the request.
             */
            user_id?: components["schemas"]["common"]["$defs"]["user_id"];
            /**
             * Verdict
             * @description Whether memory answered.
             */
            verdict: components["schemas"]["common"]["$defs"]["verdict"];
        };
    };
    responses: {
        /** @description The body is not valid JSON. */
        problem400: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["problem"];
            };
        };
        /** @description The request has no valid token. */
        problem401: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["problem"];
            };
        };
        /** @description The caller may not do this, or the policy refuses it. */
        problem403: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["problem"];
            };
        };
        /** @description It does not exist, or it belongs to another caller. */
        problem404: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["problem"];
            };
        };
        /** @description The body did not arrive in time. */
        problem408: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["problem"];
            };
        };
        /** @description The state has changed, the id or content exists already, or a person must approve first. */
        problem409: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["problem"];
            };
        };
        /** @description The version is not the one that If-Match names. */
        problem412: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["problem"];
            };
        };
        /** @description The body is too large. */
        problem413: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["problem"];
            };
        };
        /** @description The body is not uncompressed JSON. */
        problem415: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["problem"];
            };
        };
        /** @description The request is not valid. */
        problem422: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["problem"];
            };
        };
        /** @description Too many requests, or the budget is used up; see Retry-After. */
        problem429: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["problem"];
            };
        };
        /** @description An internal error of the server. */
        problem500: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["problem"];
            };
        };
        /** @description The server is overloaded, or a store does not respond; see Retry-After. */
        problem503: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["problem"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
