import { z } from "zod";
import type { Action, ParseError } from "../../../contract/action.ts";
import type { Json } from "../../../contract/json.ts";
import type { Part, ToolCall } from "../../../contract/message.ts";
import type { ActResult, TokenLogprob, TokenUsage } from "../../../contract/policy.ts";
import { parseExactJson } from "../../text/exact-json.ts";
import { cutAtStop } from "../serving/cut-at-stop.ts";
import {
  assertSilent,
  countedTokens,
  countSchema,
  finishOf,
  logprobSchema,
  parseAnswer,
  usageOf,
  usageSchema,
} from "./answer-body.ts";
import { type AnswerContext, answerTokens } from "./answer-tokens.ts";

const text = z.string().nullish();

const toolCallSchema = z.object({
  id: text,
  function: z.object({
    name: z.string().min(1),
    arguments: z.union([z.string(), z.record(z.string(), z.json())]).nullish(),
  }),
});

/** The schema of the sampled tokens of an answer. */
export const chatLogprobsSchema = z.array(
  z.object({ token: z.string(), logprob: logprobSchema, id: countSchema.optional() }),
);

/** The schema of a chat completion. Ignores other fields. */
const chatSchema = z.object({
  choices: z.tuple([
    z.object({
      finish_reason: z.string(),
      message: z.object({
        role: z.literal("assistant").nullish(),
        content: text,
        refusal: text,
        reasoning_content: text,
        reasoning: text,
        tool_calls: z.array(toolCallSchema).nullish(),
      }),
      logprobs: z.object({ content: chatLogprobsSchema.nullish() }).nullish(),
      token_ids: z.array(countSchema).nullish(),
    }),
  ]),
  prompt_token_ids: z.array(countSchema).nullish(),
  usage: usageSchema,
});

type Choice = z.infer<typeof chatSchema>["choices"][0];

/**
 * Parses the body of a chat completion. Returns its action and its tokens. Throws a transient `RequestFailure` if the
 * body is not a valid completion or contradicts itself, which is the server's fault. A tool call with arguments that
 * are not JSON is the model's fault. It becomes a parse error of the action.
 */
export function chatAnswer(body: string, context: AnswerContext): ActResult {
  const { choices, prompt_token_ids: promptIds, usage: servedUsage } = parseAnswer(body, chatSchema);
  const [choice] = choices;
  const usage = usageOf(servedUsage);
  const action = actionFrom({ choice, usage, stop: context.request.sampling.stop });
  const sampled = choice.logprobs?.content?.map(chatLogprob);
  return {
    action,
    usage,
    ...answerTokens(
      { sampled, ids: choice.token_ids, promptIds, text: visibleText(choice), counted: countedTokens(usage) },
      context,
    ),
  };
}

/**
 * The text that the tokens contain at least. The server's parsers for tool calls and reasoning may remove more text.
 */
function visibleText({ message: { content, tool_calls } }: Choice): string {
  return (tool_calls ?? []).length > 0 ? "" : (content ?? "");
}

/** Converts a sampled token of the chat protocol. */
export function chatLogprob({ token, logprob, id }: z.output<typeof chatLogprobsSchema>[number]): TokenLogprob {
  return { text: token, logprob: Math.min(0, logprob), ...(id === undefined ? {} : { id }) };
}

function actionFrom(options: {
  readonly choice: Choice;
  readonly usage: TokenUsage | undefined;
  readonly stop: readonly string[] | undefined;
}): Action {
  const { choice, usage, stop } = options;
  const { message, finish_reason } = choice;
  const answer = message.content || message.refusal || "";
  const reasoning = message.reasoning_content || message.reasoning || "";
  const calls = (message.tool_calls ?? []).length > 0;
  const { toolCalls, parseErrors } = toolCallsOf(choice);
  if (answer === "" && reasoning === "" && !calls) assertSilent(usage, message.content === "");
  const content: Part[] = [];
  if (reasoning !== "") content.push({ type: "reasoning", text: reasoning });
  if (answer !== "" || toolCalls.length === 0) content.push({ type: "text", text: cutAtStop(answer, stop) });
  return {
    message: { role: "assistant", content, ...(toolCalls.length === 0 ? {} : { toolCalls }) },
    finish: finishOf(finish_reason, calls),
    ...(parseErrors.length === 0 ? {} : { parseErrors }),
  };
}

function toolCallsOf({ message }: Choice): {
  readonly toolCalls: readonly ToolCall[];
  readonly parseErrors: readonly ParseError[];
} {
  const toolCalls: ToolCall[] = [];
  const parseErrors: ParseError[] = [];
  for (const [index, { id, function: called }] of (message.tool_calls ?? []).entries()) {
    const { name, arguments: given } = called;
    try {
      const args = typeof given === "string" && given !== "" ? (parseExactJson(given) as Json) : given || {};
      toolCalls.push({ id: id || `call-${index + 1}`, name, arguments: args as Json });
    } catch (error) {
      parseErrors.push({
        message: `The arguments of the call of ${name} are not JSON: ${(error as Error).message}`,
        text: String(given),
      });
    }
  }
  return { toolCalls, parseErrors };
}
