import type { Action, ParseError } from "../../../contract/action.ts";
import type { Part, ToolCall } from "../../../contract/message.ts";
import type { TokenLogprob, TokenUsage } from "../../../contract/policy.ts";
import type { SamplingSettings } from "../../../contract/sampler.ts";
import { callArguments } from "../../tools/call-arguments.ts";
import { cutAtStop } from "../serving/cut-at-stop.ts";
import { type FinishedBy, finishedBy } from "../serving/finish-reason.ts";
import type { ServedResult } from "../serving/served-policy.ts";
import { contentFiltered, malformed } from "../serving/unusable-answer.ts";
import type { Generated } from "./language-model.ts";

/** The parts that are no part of the answer: sources, and the provider's own calls with their results. */
const ignoredParts: readonly unknown[] = ["source", "tool-call", "tool-result"];

/**
 * Converts a model's output to an action with its usage and, if the provider's metadata has them, its
 * log-probabilities. Throws a `RequestFailure` for an unusable output: no content, or an end by an error or a filter.
 */
export function generatedAction(
  generated: Generated,
  sampling: Pick<SamplingSettings, "stop" | "maxTokens">,
): ServedResult {
  if (!Array.isArray(generated?.content)) throw malformed("has no content");
  const usage = usageOf(generated.usage);
  const logprobs = logprobsOf(generated.providerMetadata);
  return { ...actionFrom(generated, { ...sampling, usage }), usage, logprobs };
}

function actionFrom(
  generated: Generated,
  { usage, stop, maxTokens }: { readonly usage: TokenUsage | undefined } & Pick<SamplingSettings, "stop" | "maxTokens">,
): Pick<ServedResult, "action" | "finishReason" | "unknownParts"> {
  let text = "";
  let reasoning = "";
  const toolCalls: ToolCall[] = [];
  const parseErrors: ParseError[] = [];
  const unknownParts: string[] = [];
  let calls = 0;
  for (const part of generated.content) {
    if (part.type === "text") text += part.text;
    else if (part.type === "reasoning") reasoning += part.text;
    else if (part.type === "tool-call" && part.providerExecuted !== true) {
      calls += 1;
      const { toolCallId: id, toolName: name, input } = part;
      try {
        toolCalls.push({ id, name, ...callArguments(input) });
      } catch (error) {
        const message = `The arguments of the call of ${name} are not JSON: ${(error as Error).message}`;
        parseErrors.push({ message, text: input });
      }
    } else if (!ignoredParts.includes(part.type)) {
      unknownParts.push(String(part.type));
      if ("text" in part && typeof part.text === "string") text += part.text;
    }
  }
  const { finish, ...ended } = finishOf(generated.finishReason, { calls: calls > 0, usage, maxTokens });
  if (text === "" && reasoning === "" && calls === 0 && (usage?.completionTokens ?? 0) === 0)
    throw malformed("contains no message", undefined, true);
  const content: Part[] = [];
  if (reasoning !== "") content.push({ type: "reasoning", text: reasoning });
  if (text !== "" || toolCalls.length === 0) content.push({ type: "text", text: cutAtStop(text, stop) });
  const action: Action = {
    message: { role: "assistant", content, ...(toolCalls.length === 0 ? {} : { toolCalls }) },
    finish,
    ...(parseErrors.length === 0 ? {} : { parseErrors }),
  };
  return { action, ...ended, ...(unknownParts.length === 0 ? {} : { unknownParts }) };
}

/** Up to v2 of the interface, the reason is a string. The provider's own word decides if the interface has none. */
function finishOf(reason: Generated["finishReason"] | string, answer: Parameters<typeof finishedBy>[1]): FinishedBy {
  const unified = typeof reason === "string" ? reason : reason?.unified;
  const raw = typeof reason === "string" ? undefined : reason?.raw;
  if (unified === "content-filter") throw contentFiltered();
  if (unified === "error") throw malformed(`ends with ${JSON.stringify(raw ?? unified)}`);
  return finishedBy(unified === "other" ? (raw ?? unified) : unified, answer);
}

/** Up to v2 of the interface, the counts are direct fields of the usage. */
function usageOf(usage: Generated["usage"] | undefined): TokenUsage | undefined {
  const { inputTokens: input, outputTokens: output } = usage ?? {};
  const flat = usage as { readonly reasoningTokens?: number; readonly cachedInputTokens?: number } | undefined;
  const promptTokens = typeof input === "object" ? input.total : input;
  const completionTokens = typeof output === "object" ? output.total : output;
  const cached = typeof input === "object" ? input.cacheRead : flat?.cachedInputTokens;
  const reasoning = typeof output === "object" ? output.reasoning : flat?.reasoningTokens;
  if (!isCount(promptTokens) || !isCount(completionTokens)) return undefined;
  return {
    promptTokens,
    completionTokens,
    ...(isCount(cached) ? { cachedPromptTokens: cached } : {}),
    ...(isCount(reasoning) ? { reasoningTokens: reasoning } : {}),
  };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** `@ai-sdk/openai` and other providers put log-probabilities into their metadata on request, in the server's form. */
function logprobsOf(metadata: Generated["providerMetadata"]): readonly TokenLogprob[] | undefined {
  for (const { logprobs } of Object.values(metadata ?? {})) {
    if (!Array.isArray(logprobs) || logprobs.length === 0) continue;
    const entries = logprobs.flat().map(tokenLogprob);
    if (entries.every((entry) => entry !== undefined)) return entries;
  }
  return undefined;
}

function tokenLogprob(value: unknown): TokenLogprob | undefined {
  const { token, logprob } = (value ?? {}) as { readonly token?: unknown; readonly logprob?: unknown };
  if (typeof token !== "string" || typeof logprob !== "number" || !Number.isFinite(logprob)) return undefined;
  return { text: token, logprob: Math.min(0, logprob) };
}
