import type { ErrorData } from "../../../../src/contract/errors/index.ts";
import type { EngineCalls } from "./engine-calls.ts";

/** From the caller's thread to the engine's. */
export type EngineRequest =
  | { readonly type: "call"; readonly id: number; readonly method: keyof EngineCalls; readonly argument: unknown }
  | { readonly type: "abort"; readonly id: number };

/** From the engine's thread to the caller's: any number of items, then one result or error, for each call. */
export type EngineReply =
  | { readonly type: "item"; readonly id: number; readonly item: unknown }
  | { readonly type: "result"; readonly id: number; readonly result: unknown }
  | { readonly type: "error"; readonly id: number; readonly error: ErrorData };
