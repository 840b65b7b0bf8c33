import { z } from "zod";
import { type Message, type ToolSpec, textMessage } from "../../src/contract/message.ts";
import { promptMessages } from "../../src/contract/prompt.ts";
import { chatMessageSchema, chatToolSchema } from "./chat-message.ts";

/** A conversation whose assistant is to be followed. */
export interface ConversationTask {
  /** The assistant is never first, and never speaks twice in a row. */
  readonly messages: readonly Message[];
  /**
   * Where the completion of a prompt begins in which the assistant speaks: what it says before is not followed. 0 if
   * absent.
   */
  readonly completion?: number;
  /** What the assistant could call. */
  readonly tools?: readonly ToolSpec[];
}

/** A row of a chat file: a conversation, and what is known of it. */
export interface ConversationRow extends ConversationTask {
  readonly reward?: number;
  readonly agent?: string;
}

const side = z.union([z.string(), z.array(chatMessageSchema)], "must be a text or a list of messages");

/**
 * Reads a row: `{ messages }`, or `{ prompt, completion }`, each a text or a list of messages. Only what the assistant
 * says in the completion is followed. Unknown keys are left out.
 */
export const conversationRowSchema: z.ZodType<ConversationRow> = z
  .object({
    messages: z.array(chatMessageSchema).nullish(),
    prompt: side.nullish(),
    completion: side.nullish(),
    tools: z.array(chatToolSchema).nullish(),
    reward: z.number().nullish(),
    agent: z.string().nullish(),
  })
  .transform(({ messages: whole, prompt, completion, tools, reward, agent }, context) => {
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
    const before = whole == null ? promptMessages(prompt!) : [];
    const after = whole ?? (typeof completion === "string" ? [textMessage("assistant", completion)] : completion!);
    const messages = [...before, ...after];
    // The key of the row and the place within it.
    const at = (place: number): string[] => {
      if (whole != null) return ["messages", String(place)];
      return place < before.length ? ["prompt", String(place)] : ["completion", String(place - before.length)];
    };
    const first = messages.findIndex(({ role }) => role === "assistant");
    if (whole == null && after[0]?.role !== "assistant") {
      return refuse(
        "must begin with a message of the assistant: what comes before belongs to the prompt",
        "completion",
      );
    }
    if (first === -1) return refuse("the assistant says nothing in this conversation", "messages");
    if (first === 0) return refuse("the conversation begins with the assistant: there is nothing to answer", ...at(0));
    const twice = messages.findIndex(({ role }, i) => role === "assistant" && messages[i + 1]?.role === "assistant");
    if (twice !== -1) return refuse("the assistant speaks twice in a row: join the two messages", ...at(twice + 1));
    return {
      messages,
      ...(first < before.length ? { completion: before.length } : {}),
      ...(tools == null ? {} : { tools }),
      ...(reward == null ? {} : { reward }),
      ...(agent == null ? {} : { agent }),
    };
  });

/** The places of the assistant's messages that are followed: the first `maxTurns` of them, from the completion on. */
export function answerPlaces({ messages, completion = 0 }: ConversationTask, maxTurns: number): number[] {
  return messages
    .flatMap(({ role }, place) => (role === "assistant" && place >= completion ? [place] : []))
    .slice(0, maxTurns);
}
