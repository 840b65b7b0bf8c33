import { z } from "zod";
import type { Json } from "../../src/contract/json.ts";
import { type Message, type Part, servedRole } from "../../src/contract/message.ts";

/** The types of blocks that ORS's messages have. */
export const blockTypes = ["text", "image", "reasoning", "tool_call", "tool_result"] as const;

/** A text or an image, in ORS's form. */
export type Block =
  | { readonly type: "text"; readonly text: string; readonly detail: null }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string; readonly detail: null };

/** Returns the texts and images of messages, in order. */
export function blocksOf(messages: readonly Message[]): readonly Block[] {
  return messages.flatMap(({ content }) => content.flatMap(blockOf));
}

function blockOf(part: Part): readonly Block[] {
  if (part.type === "text") return [{ type: "text", text: part.text, detail: null }];
  if (part.type === "image") return [{ type: "image", data: part.data, mimeType: part.mediaType, detail: null }];
  return [];
}

/** Returns messages in ORS's form. It has no role for tools: a result is a block of a user's message. */
export function orsMessages(messages: readonly Message[]): readonly Readonly<Record<string, unknown>>[] {
  return messages.map((message) => {
    const role = servedRole(message);
    const blocks = blocksOf([message]);
    if (role === "tool") {
      const result = { type: "tool_result", tool_call_id: message.toolCallId, blocks, is_error: false, detail: null };
      return { role: "user", blocks: [result], detail: null };
    }
    const calls = (message.toolCalls ?? []).map(({ id, name, arguments: input }) => ({
      type: "tool_call",
      id,
      name,
      input,
      detail: null,
    }));
    return { role, blocks: [...blocks, ...calls], detail: null };
  });
}

const json = z.unknown() as unknown as z.ZodType<Json>;

/** One block of a candidate. Results of tools are not read: the environment runs the tools again. */
const blockSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.literal("image"), data: z.string(), mimeType: z.string() }),
  z.object({ type: z.literal("reasoning"), text: z.string() }),
  z.object({ type: z.literal("tool_call"), id: z.string(), name: z.string(), input: json }),
  z.object({ type: z.literal("tool_result") }),
]);

/** The candidates of a group, at most 256. Each one is a conversation. */
export const candidatesSchema: z.ZodType<readonly Candidate[]> = z
  .array(
    z.object({
      messages: z.array(z.object({ role: z.enum(["system", "user", "assistant"]), blocks: z.array(blockSchema) })),
      metadata: json.nullish(),
    }),
  )
  .min(1)
  .max(256);

/** A conversation whose answers are scored. */
export interface Candidate {
  readonly messages: readonly {
    readonly role: "system" | "user" | "assistant";
    readonly blocks: readonly z.output<typeof blockSchema>[];
  }[];
  readonly metadata?: Json | undefined;
}

/** Returns the assistant's messages of a candidate. */
export function answersOf({ messages }: Candidate): readonly Message[] {
  return messages.flatMap(({ role, blocks }) => (role === "assistant" ? [answerOf(blocks)] : []));
}

function answerOf(blocks: Candidate["messages"][number]["blocks"]): Message {
  const content = blocks.flatMap((block): readonly Part[] => {
    if (block.type === "text" || block.type === "reasoning") return [{ type: block.type, text: block.text }];
    return block.type === "image" ? [{ type: "image", data: block.data, mediaType: block.mimeType }] : [];
  });
  const toolCalls = blocks.flatMap((block) =>
    block.type === "tool_call" ? [{ id: block.id, name: block.name, arguments: block.input }] : [],
  );
  return { role: "assistant", content, ...(toolCalls.length === 0 ? {} : { toolCalls }) };
}
