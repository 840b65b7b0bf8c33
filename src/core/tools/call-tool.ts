import { z } from "zod";
import { LyceumError, toErrorData } from "../../contract/errors/index.ts";
import type { Json } from "../../contract/json.ts";
import { untilAborted } from "../concurrency/until-aborted.ts";
import type { ToolContext } from "./tool.ts";
import type { ToolLimits } from "./tool-limits.ts";
import type { NamedTool, ToolSet } from "./tool-set.ts";

/** The result of a call. */
export interface ToolResult {
  /** The text for the model. */
  readonly text: string;
  /** True if the tool ran without an error. */
  readonly ok: boolean;
  /** The error that the tool threw, if any. */
  readonly thrown?: unknown;
}

/**
 * Runs a tool call. An unknown tool, an invalid input, an error and a timeout are results with a message for the model.
 * Rejects only with the signal's reason, with `environment.contract`, and with errors of the tool's infrastructure:
 * `sandbox.unavailable`, `sandbox.closed` and `data.unavailable` (also for a service that does not answer in time).
 */
export async function callTool(options: {
  readonly tools: ToolSet;
  readonly limits: Required<ToolLimits>;
  readonly call: { readonly name: string; readonly arguments: Json };
  /** Creates the tool's context with the signal of this call. */
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
    if (timeout.aborted && tool.asksService) throw serviceTimeout(tool, callMs);
    if (timeout.aborted) return failed(`${name} took longer than ${callMs / 1000} s and was stopped.`);
    return { ...failed(cut(describe(error), resultCharacters)), thrown: error };
  }
}

/** Returns the value of a tool, or the last value of a stream. */
async function lastValue(output: unknown): Promise<unknown> {
  const value: unknown = await output;
  if (typeof value !== "object" || value === null || !(Symbol.asyncIterator in value)) return value;
  let last: unknown;
  for await (const one of value as AsyncIterable<unknown>) last = one;
  return last;
}

function serviceTimeout({ spec }: NamedTool, callMs: number): LyceumError {
  return new LyceumError({
    code: "data.unavailable",
    message: `The service behind ${spec.name} did not answer within ${callMs / 1000} s.`,
    hint: "Check that the service is running, or raise the time limit of calls.",
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

function describe(error: unknown): string {
  if (LyceumError.isInstance(error)) return error.hint === undefined ? error.message : `${error.message} ${error.hint}`;
  return toErrorData(error).message;
}

function shown(output: unknown): string {
  if (typeof output === "string") return output === "" ? "(no output)" : output;
  if (output === undefined) return "(no output)";
  if (typeof output === "function" || typeof output === "symbol") throw notJson(`a ${typeof output}`);
  try {
    return JSON.stringify(output) ?? "(no output)";
  } catch (cause) {
    throw notJson(describe(cause).split("\n")[0]!);
  }
}

function notJson(what: string): TypeError {
  return new TypeError(`The tool's result is not JSON data: ${what}`);
}

function cut(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return `${text.slice(0, characters)}\n... (${text.length - characters} more characters)`;
}
