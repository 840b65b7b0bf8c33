import type { Action, ParseError } from "../../../contract/action.ts";
import type { Json } from "../../../contract/json.ts";
import type { Part, ToolCall } from "../../../contract/message.ts";
import type { ActResult, TokenLogprob, TokenUsage } from "../../../contract/policy.ts";
import { parseExactJson } from "../../text/exact-json.ts";
import { cutAtStop } from "../serving/cut-at-stop.ts";
import { contentFiltered, malformed } from "../serving/unusable-answer.ts";
import type { Generated } from "./language-model.ts";

/**
 * Converts a model's output to an action with its usage and, if the provider's metadata has them, its
 * log-probabilities. Throws a `RequestFailure` for an unusable output: no content, or an end by an error or a filter.
 */
export function generatedAction(generated: Generated, stop?: readonly string[]): ActResult {
  if (!Array.isArray(generated?.content)) throw malformed("has no content");
  const usage = usageOf(generated.usage);
  const logprobs = logprobsOf(generated.providerMetadata);
  return { action: actionFrom(generated, { usage, stop }), usage, logprobs };
}

function actionFrom(
  generated: Generated,
  { usage, stop }: { readonly usage: TokenUsage | undefined; readonly stop: readonly string[] | undefined },
): Action {
  let text = "";
  let reasoning = "";
  const toolCalls: ToolCall[] = [];
  const parseErrors: ParseError[] = [];
  let calls = 0;
  for (const part of generated.content) {
    if (part.type === "text") text += part.text;
    else if (part.type === "reasoning") reasoning += part.text;
    else if (part.type === "tool-call" && part.providerExecuted !== true) {
      calls += 1;
      const { toolCallId: id, toolName: name, input } = part;
      try {
        toolCalls.push({ id, name, arguments: parseExactJson(input === "" ? "{}" : input) as Json });
      } catch (error) {
        const message = `The arguments of the call of ${name} are not JSON: ${(error as Error).message}`;
        parseErrors.push({ message, text: input });
      }
    }
  }
  const finish = finishOf(generated.finishReason, calls > 0);
  if (text === "" && reasoning === "" && calls === 0 && (usage?.completionTokens ?? 0) === 0)
    throw malformed("contains no message");
  const content: Part[] = [];
  if (reasoning !== "") content.push({ type: "reasoning", text: reasoning });
  if (text !== "" || toolCalls.length === 0) content.push({ type: "text", text: cutAtStop(text, stop) });
  return {
    message: { role: "assistant", content, ...(toolCalls.length === 0 ? {} : { toolCalls }) },
    finish,
    ...(parseErrors.length === 0 ? {} : { parseErrors }),
  };
}

/** Up to v2 of the interface, the reason is a string. */
function finishOf(reason: Generated["finishReason"] | string, calls: boolean): Action["finish"] {
  const unified = typeof reason === "string" ? reason : reason?.unified;
  switch (unified) {
    case "stop":
      return calls ? "tool-calls" : "stop";
    case "length":
      return "length";
    case "tool-calls":
      if (calls) return "tool-calls";
      throw malformed("ends with tool calls but contains none");
    case "content-filter":
      throw contentFiltered();
    default:
      throw malformed(`ends with ${JSON.stringify(typeof reason === "string" ? reason : (reason?.raw ?? unified))}`);
  }
}

/** Up to v2 of the interface, the counts are direct fields of the usage. */
function usageOf(usage: Generated["usage"] | undefined): TokenUsage | undefined {
  const { inputTokens: input, outputTokens: output } = usage ?? {};
  const flat = usage as { readonly reasoningTokens?: number; readonly cachedInputTokens?: number } | undefined;
  const promptTokens = typeof input === "object" ? input.total : input;
  const completionTokens = typeof output === "object" ? output.total : output;
  const cached = typeof input === "object" ? input.cacheRead : flat?.cachedInputTokens;
  const reasoning = typeof output === "object" ? output.reasoning : flat?.reasoningTokens;
  for (const count of [promptTokens, completionTokens]) {
    if (typeof count === "number" && count < 0) throw malformed(`counts ${count} tokens`);
  }
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
