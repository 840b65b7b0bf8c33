import { z } from "zod";
import type { Json } from "../../src/contract/json.ts";
import type { Message, ToolSpec } from "../../src/contract/message.ts";
import { templateVariablesSchema } from "../../src/core/tokens/template-variables.ts";
import { withCallIds } from "./call-ids.ts";
import {
  type ChatTurn,
  chatSideSchema,
  chatToolSchema,
  chatTurnSchema,
  turnsOf,
  type UnknownKeyReport,
} from "./chat-message.ts";

/** A conversation whose assistant messages are the targets. */
export interface ConversationTask {
  /** The assistant is never first and never has two consecutive messages. */
  readonly messages: readonly Message[];
  /**
   * The start of the completion, if the prompt contains assistant messages. Earlier messages are not targets. Defaults
   * to 0.
   */
  readonly completion?: number;
  /** The positions of assistant messages that are no targets. They are part of the prompt. Absent if there are none. */
  readonly unlearnt?: readonly number[];
  /** The tools that the assistant could call. */
  readonly tools?: readonly ToolSpec[];
  /** Variables of the model's chat template. */
  readonly templateVariables?: Readonly<Record<string, Json>>;
}

/** A row of a chat file: a conversation and its metadata. */
export interface ConversationRow extends ConversationTask {
  readonly reward?: number;
  readonly agent?: string;
}

/** The variables of the chat template that a row sets, as in TRL. Parquet files fill absent ones with null. */
export const rowVariables = z
  .record(z.string(), z.json())
  .nullish()
  .transform((variables, context): Readonly<Record<string, Json>> | undefined => {
    const given = Object.entries(variables ?? {}).filter(([, value]) => value !== null);
    if (given.length === 0) return undefined;
    const { data, error } = templateVariablesSchema.safeParse(Object.fromEntries(given));
    for (const issue of error?.issues ?? []) {
      const message = (issue.code === "invalid_key" ? issue.issues[0]?.message : undefined) ?? issue.message;
      context.addIssue({ code: "custom", message, path: [...issue.path] });
    }
    return data;
  });

/** The key that a row has if its variables have a number or an order of keys that JavaScript cannot express. */
export const inexactVariables = z
  .undefined("has a float such as 5.0, a large integer or an order of keys that cannot be kept: write it as a text")
  .optional();

/**
 * Returns the schema of a row: `{ messages }` or `{ prompt, completion }`, each a text or a list of messages. With a
 * completion, only its assistant messages are targets. Messages with `weight: 0` or `train: false` are never targets.
 * Unknown keys of the row are ignored, those of messages are reported.
 */
export function conversationRowSchema(reportUnknown: UnknownKeyReport): z.ZodType<ConversationRow> {
  const chatTurn = chatTurnSchema(reportUnknown);
  const side = chatSideSchema(reportUnknown);
  return z
    .object({
      messages: z.array(chatTurn).nullish(),
      prompt: side.nullish(),
      completion: side.nullish(),
      tools: z.array(chatToolSchema).nullish(),
      reward: z.number().nullish(),
      agent: z.string().nullish(),
      chat_template_kwargs: rowVariables,
      chat_template_kwargsJson: inexactVariables,
    })
    .transform((row, context) => {
      const {
        messages: whole,
        prompt,
        completion,
        tools,
        reward,
        agent,
        chat_template_kwargs: templateVariables,
      } = row;
      const refuse = (message: string, ...path: string[]): typeof z.NEVER => {
        context.addIssue({ code: "custom", message, path });
        return z.NEVER;
      };
      if (whole != null && (prompt != null || completion != null)) {
        return refuse("has messages and a prompt or a completion: give one or the other");
      }
      if (whole == null && prompt == null) return refuse("has neither messages nor a prompt with its completion");
      if (whole == null && completion == null)
        return refuse("must follow the prompt: a text or a list of messages", "completion");
      const before = whole == null ? turnsOf(prompt!, "user") : [];
      const after = whole ?? turnsOf(completion!, "assistant");
      const turns = [...before, ...after];
      const messages = withCallIds(turns.map(({ message }) => message));
      // The path in the row: its key and the position within it.
      const at = (place: number): string[] => {
        if (whole != null) return ["messages", String(place)];
        return place < before.length ? ["prompt", String(place)] : ["completion", String(place - before.length)];
      };
      const first = messages.findIndex(({ role }) => role === "assistant");
      if (whole == null && after[0]?.message.role !== "assistant") {
        return refuse(
          "must begin with a message of the assistant: what comes before belongs to the prompt",
          "completion",
        );
      }
      if (first === -1) return refuse("the conversation has no message of the assistant", "messages");
      if (first === 0)
        return refuse("the conversation begins with the assistant: there is nothing to answer", ...at(0));
      const twice = messages.findIndex(({ role }, i) => role === "assistant" && messages[i + 1]?.role === "assistant");
      if (twice !== -1) return refuse("the assistant has two messages in a row: join them", ...at(twice + 1));
      const isTarget = ({ message, isLearnt }: ChatTurn): boolean => message.role === "assistant" && isLearnt;
      if (!after.some(isTarget)) {
        return refuse("weight: 0 or train: false excludes each message of the assistant: nothing is learnt");
      }
      const unlearnt = turns.flatMap(({ isLearnt }, i) => (isLearnt || messages[i]!.role !== "assistant" ? [] : [i]));
      return {
        messages,
        ...(first < before.length ? { completion: before.length } : {}),
        ...(unlearnt.length === 0 ? {} : { unlearnt }),
        ...(tools == null ? {} : { tools }),
        ...(templateVariables === undefined ? {} : { templateVariables }),
        ...(reward == null ? {} : { reward }),
        ...(agent == null ? {} : { agent }),
      };
    });
}

/**
 * Returns the positions of the target messages: the first `maxTurns` learnt messages of the assistant, from the
 * completion on.
 */
export function answerPositions(task: ConversationTask, maxTurns: number): number[] {
  const { messages, completion = 0, unlearnt = [] } = task;
  return messages
    .flatMap(({ role }, place) => (role === "assistant" && place >= completion ? [place] : []))
    .filter((place) => !unlearnt.includes(place))
    .slice(0, maxTurns);
}
