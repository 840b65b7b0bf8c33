import type { RecordedCall } from "../../contract/episode.ts";
import type { ToolSpec } from "../../contract/message.ts";
import { messageProblem } from "../../contract/message-problem.ts";
import type { ActResult, ModelCall } from "../../contract/policy.ts";
import type { SamplingSettings } from "../../contract/sampler.ts";
import type { TokenPrefix } from "../../contract/token-prefix.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { actionProblem } from "./action-problem.ts";
import { recordCompletion, recordPrompt, type Unlikely } from "./record-tokens.ts";

/** A recorded call, with what a later call that continues it needs. */
interface Known {
  readonly record: RecordedCall;
  /** The number of messages of the request and its answer. */
  readonly messageCount: number;
  readonly tools: string;
  /** The tokens of the request and its answer. */
  readonly ids: TokenPrefix | undefined;
}

/**
 * Returns the records of an action's model calls and the number of their sampled tokens. Undefined if the action has no
 * calls. A record has only the messages, tools and tokens that the call adds to the call that it continues. Throws for
 * invalid calls.
 */
export function recordCalls(
  { calls, tokens }: ActResult,
  options: { readonly sampling: SamplingSettings; readonly unlikely: Unlikely },
): { readonly records: readonly RecordedCall[]; readonly sampledTokens: number } | undefined {
  const { unlikely } = options;
  if (calls === undefined) return undefined;
  if (!Array.isArray(calls)) throw unlikely("calls that are not a list");
  if (tokens !== undefined) throw unlikely("both tokens and calls");
  const recorded: Known[] = [];
  for (const [index, call] of calls.entries()) {
    const inCall: Unlikely = (what) => unlikely(`${what} in its model call ${index}`);
    recorded.push(recordCall(call, { ...options, unlikely: inCall, earlier: recorded }));
  }
  const records = recorded.map(({ record }) => record);
  const sampledTokens = records.reduce(
    (sum, { completion, usage }) => sum + (completion?.ids.length ?? usage?.completionTokens ?? 0),
    0,
  );
  return { records, sampledTokens };
}

function recordCall(
  call: ModelCall,
  options: {
    readonly sampling: SamplingSettings;
    readonly unlikely: Unlikely;
    readonly earlier: readonly Known[];
  },
): Known {
  const { sampling, unlikely, earlier } = options;
  const { continues, messages, action, tokens, usage, latencyMs } = call;
  checkMessages(call, unlikely);
  const before = continues === undefined ? undefined : earlier[continues];
  if (continues !== undefined && before === undefined) throw unlikely(`a continuation of call ${continues}`);
  const known = before?.messageCount ?? 0;
  if (messages.length < known) throw unlikely("fewer messages than the call that it continues");
  const prompt = tokens === undefined ? undefined : recordPrompt(tokens, before?.ids, unlikely);
  const tools = toolsKey(call.tools);
  const record = withoutUndefined<RecordedCall>({
    continues,
    messages: messages.slice(known),
    ...(tools === (before?.tools ?? toolsKey(undefined)) ? {} : { tools: call.tools ?? [] }),
    answer: action.message,
    finish: action.finish,
    parseErrors: action.parseErrors,
    prompt: prompt?.tokens,
    completion: tokens === undefined ? undefined : recordCompletion(tokens, sampling, unlikely),
    usage,
    latencyMs,
  });
  return { record, messageCount: messages.length + 1, tools, ids: prompt?.whole.append(tokens!.completionIds) };
}

function checkMessages({ messages, action }: ModelCall, unlikely: Unlikely): void {
  if (!Array.isArray(messages)) throw unlikely("messages that are not a list");
  const [problem] = messages.flatMap((message) => messageProblem(message) ?? []);
  if (problem !== undefined) throw unlikely(`a message that ${problem}`);
  const ofAction = actionProblem(action);
  if (ofAction !== undefined) throw unlikely(ofAction);
}

function toolsKey(tools: readonly ToolSpec[] = []): string {
  return JSON.stringify(tools);
}
