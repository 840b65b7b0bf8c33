import type { ErrorData } from "../../../../src/contract/errors/index.ts";
import type { EngineCalls } from "./engine-calls.ts";

/** A message from the caller's thread to the engine's thread. */
export type EngineRequest =
  | { readonly type: "call"; readonly id: number; readonly method: keyof EngineCalls; readonly argument: unknown }
  | { readonly type: "abort"; readonly id: number }
  /** Says how many more items were received. */
  | { readonly type: "received"; readonly count: number }
  /** Stops some of the requests of a call of `sample`. */
  | { readonly type: "drop"; readonly id: number; readonly requests: readonly number[] };

/**
 * A message from the engine's thread to the caller's thread. Each call has any number of items, then one result or
 * error.
 */
export type EngineReply =
  | { readonly type: "item"; readonly id: number; readonly item: unknown }
  | { readonly type: "result"; readonly id: number; readonly result: unknown }
  | { readonly type: "error"; readonly id: number; readonly error: ErrorData };

/** The number of items after which the caller's thread says that it has received them. */
export const itemsPerReceipt = 32;
