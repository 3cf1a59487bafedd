export { Keys, Layer, Memory, type CallOptions, type Options } from "./client.js";
export * from "./errors.js";
export type { Connection } from "./transport.js";
export type * from "./types.js";
export type { components } from "./wire.js";
