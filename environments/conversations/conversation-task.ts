import { z } from "zod";
import type { Message, ToolSpec } from "../../src/message/message.ts";
import { chatMessageSchema, chatToolSchema } from "./chat-message.ts";

/** A conversation whose assistant is to be followed. */
export interface ConversationTask {
  /** The assistant is never first, and never speaks twice in a row. */
  readonly messages: readonly Message[];
  /** What the assistant could call. */
  readonly tools?: readonly ToolSpec[];
}

/** A row of a chat file: a conversation, and what is known of it. */
export interface ConversationRow extends ConversationTask {
  readonly reward?: number;
  readonly agent?: string;
}

/** Reads a row; unknown keys are left out. */
export const conversationRowSchema: z.ZodType<ConversationRow> = z
  .object({
    messages: z.array(chatMessageSchema),
    tools: z.array(chatToolSchema).nullish(),
    reward: z.number().nullish(),
    agent: z.string().nullish(),
  })
  .check((context) => {
    const { messages } = context.value;
    const refuse = (message: string, path: (string | number)[]): void => {
      context.issues.push({ code: "custom", message, input: messages, path: ["messages", ...path] });
    };
    const first = messages.findIndex(({ role }) => role === "assistant");
    if (first === -1) refuse("the assistant says nothing in this conversation", []);
    if (first === 0) refuse("the conversation begins with the assistant: there is nothing to answer", [0]);
    const twice = messages.findIndex(({ role }, i) => role === "assistant" && messages[i + 1]?.role === "assistant");
    if (twice !== -1) refuse("the assistant speaks twice in a row: join the two messages", [twice + 1]);
  })
  .transform(({ messages, tools, reward, agent }) => ({
    messages,
    ...(tools == null ? {} : { tools }),
    ...(reward == null ? {} : { reward }),
    ...(agent == null ? {} : { agent }),
  }));

/** The places of the assistant's messages that are followed: the first `maxTurns` of them. */
export function answerPlaces({ messages }: ConversationTask, maxTurns: number): number[] {
  return messages.flatMap(({ role }, place) => (role === "assistant" ? [place] : [])).slice(0, maxTurns);
}
