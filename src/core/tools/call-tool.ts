import { z } from "zod";
import { LyceumError } from "../../contract/errors/index.ts";
import type { Json } from "../../contract/json.ts";
import { untilAborted } from "../concurrency/until-aborted.ts";
import type { ToolContext } from "./tool.ts";
import type { NamedTool, ToolSet } from "./tool-set.ts";

/** Limits of calls. */
export interface ToolLimits {
  /** The most milliseconds of one call; 30,000 by default. A call that takes longer is an error for the model. */
  readonly callMs?: number;
  /** The most characters of a result; 4,000 by default. The rest is left out. */
  readonly resultCharacters?: number;
  /** The most calls of one message that are run; 8 by default. */
  readonly callsPerMessage?: number;
}

/** The limits that hold if nothing else is said. */
export const defaultToolLimits: Required<ToolLimits> = { callMs: 30_000, resultCharacters: 4_000, callsPerMessage: 8 };

/** What came of a call. */
export interface ToolResult {
  /** What the model reads. */
  readonly text: string;
  /** The tool ran and did not fail. */
  readonly ok: boolean;
  /** What the tool threw, if it did. */
  readonly thrown?: unknown;
}

/**
 * Runs a call. An unknown tool, an input that its schema refuses, an error and a call that takes too long are results
 * that say what to do. Rejects only with the signal's reason, with an error that means that the tool's infrastructure
 * is down (`sandbox.unavailable`, `sandbox.closed`, `data.unavailable`; also a service that takes too long), and with
 * `environment.contract`.
 */
export async function callTool(options: {
  readonly tools: ToolSet;
  readonly limits: Required<ToolLimits>;
  readonly call: { readonly name: string; readonly arguments: Json };
  /** What the tool is given beside its input, with the signal of this call. */
  readonly context: (signal: AbortSignal) => ToolContext;
  /** Stops the episode. */
  readonly signal?: AbortSignal | undefined;
}): Promise<ToolResult> {
  const { tools, limits, call } = options;
  const { callMs, resultCharacters } = limits;
  const tool = tools.find(call.name);
  if (typeof tool === "string") return failed(tool);
  const { name } = tool.spec;
  const input = await z.safeParseAsync(tool.schema, call.arguments);
  if (!input.success) {
    return failed(cut(`the input of ${name} is wrong:\n${z.prettifyError(input.error)}`, resultCharacters));
  }
  const timeout = AbortSignal.timeout(callMs);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
  try {
    const run = async (): Promise<string> => shown(await lastValue(tool.execute(input.data, options.context(signal))));
    return { text: cut(await untilAborted(run(), signal), resultCharacters), ok: true };
  } catch (error) {
    options.signal?.throwIfAborted();
    if (isFatal(error)) throw error;
    if (timeout.aborted && tool.asksService) throw tooLate(tool, callMs);
    if (timeout.aborted) return failed(`${name} took longer than ${callMs / 1000} s and was stopped.`);
    return { ...failed(cut(inWords(error), resultCharacters)), thrown: error };
  }
}

/** The value of a tool; of a stream, its last one. */
async function lastValue(output: unknown): Promise<unknown> {
  const value: unknown = await output;
  if (typeof value !== "object" || value === null || !(Symbol.asyncIterator in value)) return value;
  let last: unknown;
  for await (const one of value as AsyncIterable<unknown>) last = one;
  return last;
}

function tooLate({ spec }: NamedTool, callMs: number): LyceumError {
  return new LyceumError({
    code: "data.unavailable",
    message: `The service behind ${spec.name} did not answer within ${callMs / 1000} s.`,
    hint: "Check that it runs, or give calls more time.",
  });
}

function isFatal(error: unknown): boolean {
  const codes: readonly string[] = [
    "sandbox.unavailable",
    "sandbox.closed",
    "data.unavailable",
    "environment.contract",
  ];
  return LyceumError.isInstance(error) && codes.includes(error.code);
}

function failed(reason: string): ToolResult {
  return { text: `Error: ${reason}`, ok: false };
}

function inWords(error: unknown): string {
  if (LyceumError.isInstance(error)) return error.hint === undefined ? error.message : `${error.message} ${error.hint}`;
  return error instanceof Error ? error.message : String(error);
}

function shown(output: unknown): string {
  if (typeof output === "string") return output === "" ? "(no output)" : output;
  if (output === undefined) return "(no output)";
  if (typeof output === "function" || typeof output === "symbol") throw noData(`a ${typeof output}`);
  try {
    return JSON.stringify(output) ?? "(no output)";
  } catch (cause) {
    throw noData(inWords(cause).split("\n")[0]!);
  }
}

function noData(what: string): TypeError {
  return new TypeError(`The tool's result is no data: ${what}`);
}

function cut(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return `${text.slice(0, characters)}\n... (${text.length - characters} more characters)`;
}
