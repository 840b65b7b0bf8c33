import { z } from "zod";
import { LyceumError, unknownNameError } from "../../src/errors/index.ts";
import type { ToolCall } from "../../src/message/message.ts";
import { untilAborted } from "../../src/until-aborted.ts";
import type { Tool, ToolEpisode } from "./tool.ts";

/** What a call came to. */
export interface ToolResult {
  /** What the model reads. */
  readonly text: string;
  /** The tool ran and did not fail. */
  readonly ok: boolean;
}

/** Carries out calls, one after another. */
export interface ToolCaller {
  readonly tools: readonly Tool[];
  readonly limits: {
    /** Time of one call, in milliseconds. */
    readonly callMs: number;
    /** Characters of a result; what is more is left out. */
    readonly outputCharacters: number;
  };
}

/**
 * Carries out a call. An unknown tool, an input that its schema refuses, an error and a call that takes too long are
 * results that say what to do. Rejects only with the signal's reason, and with an error that means that the tool's
 * infrastructure is down (`sandbox.unavailable`, `sandbox.closed`, `data.unavailable`), as does a service that takes too
 * long.
 */
export async function callTool(
  { tools, limits }: ToolCaller,
  call: Pick<ToolCall, "name" | "arguments">,
  context: { readonly episode: ToolEpisode; readonly signal?: AbortSignal },
): Promise<ToolResult> {
  const tool = tools.find(({ name }) => name === call.name);
  if (tool === undefined) {
    const { message, hint } = unknownNameError({
      kind: "tool",
      name: call.name.slice(0, 100),
      known: tools.map(({ name }) => name),
    });
    return failed(`${message} ${hint}`);
  }
  const input = await tool.parameters.safeParseAsync(call.arguments);
  if (!input.success) {
    return failed(cut(`the input of ${tool.name} is wrong:\n${z.prettifyError(input.error)}`, limits.outputCharacters));
  }
  const timeout = AbortSignal.timeout(limits.callMs);
  const signal = context.signal === undefined ? timeout : AbortSignal.any([context.signal, timeout]);
  try {
    const run = async (): Promise<unknown> => tool.call(input.data, { episode: context.episode, signal });
    const output = await untilAborted(run(), signal);
    return { text: cut(shown(output), limits.outputCharacters), ok: true };
  } catch (error) {
    context.signal?.throwIfAborted();
    if (isInfrastructure(error)) throw error;
    if (timeout.aborted && tool.asksService === true) throw tooLate(tool, limits.callMs);
    if (timeout.aborted) return failed(`${tool.name} took longer than ${limits.callMs / 1000} s and was stopped.`);
    return failed(cut(inWords(error), limits.outputCharacters));
  }
}

function tooLate({ name }: Tool, callMs: number): LyceumError {
  return new LyceumError({
    code: "data.unavailable",
    message: `The service behind ${name} did not answer within ${callMs / 1000} s.`,
    hint: "Check that it runs, or give it more time by callSeconds.",
  });
}

function isInfrastructure(error: unknown): boolean {
  const codes: readonly string[] = ["sandbox.unavailable", "sandbox.closed", "data.unavailable"];
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
  return JSON.stringify(output) ?? "(no output)";
}

function cut(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return `${text.slice(0, characters)}\n... (${text.length - characters} more characters)`;
}
