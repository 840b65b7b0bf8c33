import { z } from "zod";
import type { Json } from "../../src/contract/json.ts";
import {
  type Message,
  type Part,
  type Role,
  type ToolCall,
  type ToolSpec,
  textMessage,
} from "../../src/contract/message.ts";
import { reasoningOf } from "../../src/core/tokens/assistant-text.ts";
import { withSeparateReasoning } from "../../src/core/tokens/split-reasoning.ts";
import { callArguments } from "../../src/core/tools/call-arguments.ts";

const textPart = z.object({ type: z.literal("text"), text: z.string() });
const imagePart = z.object({ type: z.literal("image"), mediaType: z.string(), data: z.string() });
const imageUrlPart = z.object({
  type: z.literal("image_url"),
  image_url: z.object({
    url: z.string().regex(/^data:[\w/+.-]+;base64,/, "an image must be embedded in the file (data:)"),
  }),
});

const thinkingPart = z.object({ type: z.literal("thinking"), thinking: z.string() });
const reasoningPart = z.object({ type: z.literal("reasoning"), text: z.string() });
const contentPart = z.discriminatedUnion("type", [textPart, imagePart, imageUrlPart, thinkingPart, reasoningPart]);

const toolCall = z.object({
  id: z.string().nullish(),
  function: z.object({
    name: z.string().min(1),
    arguments: z
      .union([z.string(), z.record(z.string(), z.json())], "arguments must be a mapping or its JSON text")
      .nullish(),
    argumentsJson: z.string().optional(),
  }),
});

/** A message of a chat file. */
export interface ChatTurn {
  readonly message: Message;
  /** False if `weight: 0` or `train: false` says that the assistant's message is not learnt. */
  readonly isLearnt: boolean;
}

const messageKeys = {
  role: z.enum(["system", "developer", "user", "assistant", "tool"]),
  content: z
    .union([z.string(), z.array(contentPart)], "content must be a text, or a list of text, image and thinking parts")
    .nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  thinking: z.string().nullish(),
  tool_calls: z.array(toolCall).nullish(),
  tool_call_id: z.string().nullish(),
  name: z.string().nullish(),
  weight: z.union([z.literal(0), z.literal(1)], "weight must be 0 or 1: a message is learnt or not").nullish(),
  train: z.boolean().nullish(),
};

/** Called for a key of a message that nothing reads. */
export type UnknownKeyReport = (key: string) => void;

/**
 * Returns the schema of a message in a chat file. It is the form of OpenAI's chat completions, of chat templates and of
 * `lyceum collect`. A null field is an absent one.
 */
export function chatTurnSchema(reportUnknown: UnknownKeyReport): z.ZodType<ChatTurn> {
  return z.looseObject(messageKeys).transform((row, context): ChatTurn => {
    const { role, content, tool_calls: calls, tool_call_id: toolCallId, name, weight, train } = row;
    const refuse = (message: string, ...path: (string | number)[]): void => {
      context.addIssue({ code: "custom", message, path });
    };
    for (const [key, value] of Object.entries(row))
      if (value != null && !Object.hasOwn(messageKeys, key)) reportUnknown(key);
    if (content == null && role !== "assistant") refuse(`the message of the ${role} is empty`);
    const toolCalls = (calls ?? []).map((call, place): ToolCall => {
      const { name: tool, arguments: given, argumentsJson } = call.function;
      const id = call.id ?? "";
      try {
        return { id, name: tool, ...callArguments(given, { argumentsJson, largeIntegers: "text" }) };
      } catch (error) {
        const problem = `the arguments of the call of ${tool} are not JSON: ${(error as Error).message}`;
        refuse(problem, "tool_calls", place);
        return { id, name: tool, arguments: null };
      }
    });
    const parts = typeof content === "string" ? textParts(content) : (content ?? []).map(partOf);
    const thoughts = new Set([row.reasoning_content, row.reasoning, row.thinking].filter(Boolean) as string[]);
    if (thoughts.size > 1) refuse("reasoning_content, reasoning and thinking differ: give one of them");
    const reasoning = [...thoughts].map((text): Part => ({ type: "reasoning", text }));
    const hasThoughts = parts.some(({ type }) => type === "reasoning");
    if (hasThoughts && reasoning.length > 0) refuse("reasoning is given twice: as a field and in the content");
    if (role !== "assistant") {
      if (hasThoughts || reasoning.length > 0) refuse(`the message of the ${role} has reasoning`);
      if (weight === 1 || train === true) refuse(`only messages of the assistant are learnt, not of the ${role}`);
    }
    if (weight != null && train != null && (weight === 1) !== train) refuse("weight and train contradict each other");
    const message: Message = {
      role: role === "developer" ? "system" : role,
      content: [...reasoning, ...parts],
      ...(toolCalls.length === 0 ? {} : { toolCalls }),
      ...(toolCallId == null ? {} : { toolCallId }),
      ...(name == null ? {} : { name }),
    };
    return { message, isLearnt: weight !== 0 && train !== false };
  });
}

/** Returns the schema of a text or a list of messages. Its problems name the message. */
export function chatSideSchema(reportUnknown: UnknownKeyReport): z.ZodType<string | readonly ChatTurn[]> {
  const turns = z.array(chatTurnSchema(reportUnknown));
  return z.unknown().transform((value, context) => {
    if (typeof value === "string") return value;
    const parsed = turns.safeParse(value);
    if (parsed.success) return parsed.data;
    const problems = Array.isArray(value)
      ? parsed.error.issues
      : [{ message: "must be a text or a list of messages", path: [] }];
    for (const { message, path } of problems) context.addIssue({ code: "custom", message, path: [...path] });
    return z.NEVER;
  });
}

/** Returns the messages of a side. A text is one message of `role`. */
export function turnsOf(side: string | readonly ChatTurn[], role: Role): readonly ChatTurn[] {
  return typeof side === "string" ? [{ message: textMessage(role, side), isLearnt: true }] : side;
}

/** The schema of a tool in a chat file, with or without a `function` object around it. */
export const chatToolSchema: z.ZodType<ToolSpec> = z
  .union([z.object({ function: z.unknown() }).transform((tool) => tool.function), z.unknown()])
  .pipe(
    z.object({
      name: z.string().min(1),
      description: z.string().default(""),
      parameters: z.json().default({}),
      parametersJson: z.string().exactOptional(),
    }),
  );

/**
 * Returns true if two messages have the same text and tool calls. Ignores reasoning, ids of calls and surrounding white
 * space.
 */
export function haveSameContent(first: Message, second: Message): boolean {
  return (
    JSON.stringify(essence(withSeparateReasoning(first))) === JSON.stringify(essence(withSeparateReasoning(second)))
  );
}

/** Returns true if two messages have the same content and the same reasoning. */
export function haveSameReasoning(first: Message, second: Message): boolean {
  const [one, other] = [first, second].map((message) => reasoningOf(withSeparateReasoning(message)).trim());
  return one === other && haveSameContent(first, second);
}

function essence({ content, toolCalls = [] }: Message): Json {
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("");
  return [text.trim(), toolCalls.map((call) => [call.name, call.arguments])];
}

function textParts(text: string): Part[] {
  return text === "" ? [] : [{ type: "text", text }];
}

function partOf(part: z.output<typeof contentPart>): Part {
  if (part.type === "thinking") return { type: "reasoning", text: part.thinking };
  if (part.type !== "image_url") return part;
  const [, mediaType = "", data = ""] = /^data:([^;]+);base64,(.*)$/s.exec(part.image_url.url) ?? [];
  return { type: "image", mediaType, data };
}
