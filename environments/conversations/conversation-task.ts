import { z } from "zod";
import { type Message, type ToolSpec, textMessage } from "../../src/contract/message.ts";
import { promptMessages } from "../../src/contract/prompt.ts";
import { chatMessageSchema, chatToolSchema } from "./chat-message.ts";

/** A conversation whose assistant messages are the targets. */
export interface ConversationTask {
  /** The assistant is never first and never has two consecutive messages. */
  readonly messages: readonly Message[];
  /**
   * The start of the completion, if the prompt contains assistant messages. Earlier messages are not targets. Defaults
   * to 0.
   */
  readonly completion?: number;
  /** The tools that the assistant could call. */
  readonly tools?: readonly ToolSpec[];
}

/** A row of a chat file: a conversation and its metadata. */
export interface ConversationRow extends ConversationTask {
  readonly reward?: number;
  readonly agent?: string;
}

const side = z.union([z.string(), z.array(chatMessageSchema)], "must be a text or a list of messages");

/**
 * Parses a row: `{ messages }` or `{ prompt, completion }`, each a text or a list of messages. With a completion, only
 * its assistant messages are targets. Unknown keys are ignored.
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
    // The path in the row: its key and the position within it.
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
    if (first === -1) return refuse("the conversation has no message of the assistant", "messages");
    if (first === 0) return refuse("the conversation begins with the assistant: there is nothing to answer", ...at(0));
    const twice = messages.findIndex(({ role }, i) => role === "assistant" && messages[i + 1]?.role === "assistant");
    if (twice !== -1) return refuse("the assistant has two messages in a row: join them", ...at(twice + 1));
    return {
      messages,
      ...(first < before.length ? { completion: before.length } : {}),
      ...(tools == null ? {} : { tools }),
      ...(reward == null ? {} : { reward }),
      ...(agent == null ? {} : { agent }),
    };
  });

/** Returns the positions of the target messages: the first `maxTurns` assistant messages, from the completion on. */
export function answerPositions({ messages, completion = 0 }: ConversationTask, maxTurns: number): number[] {
  return messages
    .flatMap(({ role }, place) => (role === "assistant" && place >= completion ? [place] : []))
    .slice(0, maxTurns);
}
