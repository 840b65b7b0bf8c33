import { z } from "zod";
import type { Json } from "../../src/contract/json.ts";
import type { Message, Part, ToolCall, ToolSpec } from "../../src/contract/message.ts";
import { tryParseExactJson } from "../../src/core/text/exact-json.ts";

const textPart = z.object({ type: z.literal("text"), text: z.string() });
const imagePart = z.object({ type: z.literal("image"), mediaType: z.string(), data: z.string() });
const imageUrlPart = z.object({
  type: z.literal("image_url"),
  image_url: z.object({
    url: z.string().regex(/^data:[\w/+.-]+;base64,/, "an image must be embedded in the file (data:)"),
  }),
});

const toolCall = z.object({
  id: z.string().optional(),
  function: z.object({
    name: z.string().min(1),
    arguments: z.union([z.string(), z.record(z.string(), z.json())], "arguments must be a mapping or its JSON text"),
  }),
});

/**
 * The schema of a message in a chat file, which is parsed to a {@link Message}. It is the form of OpenAI's chat
 * completions, of chat templates and of `lyceum collect`.
 */
export const chatMessageSchema: z.ZodType<Message> = z
  .object({
    role: z.enum(["system", "developer", "user", "assistant", "tool"]),
    content: z
      .union(
        [z.string(), z.array(z.discriminatedUnion("type", [textPart, imagePart, imageUrlPart]))],
        "content must be a text, or a list of text and image parts",
      )
      .nullish(),
    tool_calls: z.array(toolCall).nullish(),
    tool_call_id: z.string().nullish(),
    name: z.string().nullish(),
  })
  .transform((row, context): Message => {
    const { role, content, tool_calls: calls, tool_call_id: toolCallId, name } = row;
    if (content == null && role !== "assistant")
      context.addIssue({ code: "custom", message: `the message of the ${role} is empty` });
    const toolCalls = (calls ?? []).map((call, place): ToolCall => {
      const { name: tool, arguments: given } = call.function;
      const parsed = typeof given === "string" ? tryParseExactJson(given) : given;
      if (parsed === undefined) {
        const message = `the arguments of the call of ${tool} are not JSON, or have an integer beyond 2^53`;
        context.addIssue({ code: "custom", message, path: ["tool_calls", place] });
      }
      return { id: call.id ?? `call-${place + 1}`, name: tool, arguments: parsed ?? null };
    });
    return {
      role: role === "developer" ? "system" : role,
      content: typeof content === "string" ? textParts(content) : (content ?? []).map(partOf),
      ...(toolCalls.length === 0 ? {} : { toolCalls }),
      ...(toolCallId == null ? {} : { toolCallId }),
      ...(name == null ? {} : { name }),
    };
  });

/** The schema of a tool in a chat file, with or without a `function` object around it. */
export const chatToolSchema: z.ZodType<ToolSpec> = z
  .union([z.object({ function: z.unknown() }).transform((tool) => tool.function), z.unknown()])
  .pipe(z.object({ name: z.string().min(1), description: z.string().default(""), parameters: z.json().default({}) }));

/**
 * Returns true if two messages have the same text and tool calls. Ignores reasoning, ids of calls and surrounding white
 * space.
 */
export function haveSameContent(first: Message, second: Message): boolean {
  return JSON.stringify(essence(first)) === JSON.stringify(essence(second));
}

function essence({ content, toolCalls = [] }: Message): Json {
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("");
  return [text.trim(), toolCalls.map((call) => [call.name, call.arguments])];
}

function textParts(text: string): Part[] {
  return text === "" ? [] : [{ type: "text", text }];
}

function partOf(part: z.output<typeof textPart | typeof imagePart | typeof imageUrlPart>): Part {
  if (part.type !== "image_url") return part;
  const [, mediaType = "", data = ""] = /^data:([^;]+);base64,(.*)$/s.exec(part.image_url.url) ?? [];
  return { type: "image", mediaType, data };
}
