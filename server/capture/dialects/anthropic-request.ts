import { z } from "zod";
import type { Json } from "../../../src/contract/json.ts";
import type { Message, Part, ToolCall } from "../../../src/contract/message.ts";
import { withoutUndefined } from "../../../src/core/without-undefined.ts";
import type { ModelRequest } from "./dialect.ts";
import { chosenTools, toolSpec } from "./openai-tools.ts";
import {
  exactField,
  imagePart,
  parseBody,
  refuse,
  samplingOf,
  samplingShape,
  unsupported,
  withToolNames,
} from "./read-request.ts";

const block = z.looseObject({ type: z.string() });
const blocks = z.union([z.string(), z.array(block)]);

const tool = z.object({
  type: z.string().nullish(),
  name: z.string().min(1),
  description: z.string().nullish(),
  input_schema: z.record(z.string(), z.json()).optional(),
  input_schemaJson: z.string().optional(),
});

const shape = {
  model: z.string().default(""),
  messages: z.array(z.object({ role: z.enum(["user", "assistant", "system"]), content: blocks })).min(1),
  system: blocks.nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: z.object({ type: z.string() }).nullish(),
} as const;

const countSchema = z.object(shape);

const schema = z.object({
  ...shape,
  ...samplingShape,
  max_tokens: z.int().min(1),
  stop_sequences: z.array(z.string()).nullish(),
  stream: z.boolean().nullish(),
  output_format: z.unknown().optional(),
  output_config: z.object({ format: z.unknown().optional() }).nullish(),
  container: z.unknown().optional(),
  mcp_servers: z.array(z.unknown()).nullish(),
});

const textBlock = z.object({ text: z.string() });
const thinkingBlock = z.object({ thinking: z.string() });
const imageBlock = z.object({
  source: z.object({ type: z.string(), media_type: z.string().optional(), data: z.string().optional() }),
});
const toolUse = z.object({ id: z.string(), name: z.string(), input: z.json(), inputJson: z.string().optional() });
const toolResult = z.object({ tool_use_id: z.string(), content: blocks.nullish() });

/** Reads the body of `/v1/messages`. */
export function readAnthropic(body: unknown): ModelRequest {
  const given = parseBody(body, schema);
  refuse("output_format", given.output_format);
  refuse("output_config.format", given.output_config?.format);
  refuse("container", given.container);
  refuse("mcp_servers", given.mcp_servers?.length, [0]);
  return withoutUndefined<ModelRequest>({
    model: given.model,
    ...readConversation(given),
    sampling: samplingOf(given, { maxTokens: given.max_tokens, stop: given.stop_sequences ?? [] }),
    stream: given.stream ?? false,
    streamUsage: true,
  });
}

/** Reads the body of `/v1/messages/count_tokens`. */
export function readAnthropicCount(body: unknown): Pick<ModelRequest, "messages" | "tools"> {
  return readConversation(parseBody(body, countSchema));
}

type Conversation = z.infer<typeof countSchema>;

function readConversation(given: Conversation): Pick<ModelRequest, "messages" | "tools"> {
  const { system, messages } = given;
  const instructions = system ? [{ role: "system" as const, content: plainParts(system) }] : [];
  return {
    messages: withToolNames([...instructions, ...messages.flatMap(readMessage)]),
    tools: chosenTools((given.tools ?? []).map(readTool), given.tool_choice?.type),
  };
}

function readTool({ type, name, description, input_schema, input_schemaJson }: z.infer<typeof tool>) {
  refuse(`A tool of type ${type}`, type, ["custom"]);
  return toolSpec({ name, description, parameters: input_schema, parametersJson: input_schemaJson });
}

function readMessage({ role, content }: Conversation["messages"][number]): readonly Message[] {
  if (role === "assistant") return [readAssistant(content)];
  if (typeof content === "string") return [{ role, content: plainParts(content) }];
  const messages: Message[] = [];
  let parts: Part[] = [];
  for (const given of content) {
    if (given.type !== "tool_result") {
      parts.push(...readPart(given));
      continue;
    }
    if (parts.length > 0) messages.push({ role, content: parts });
    parts = [];
    const { tool_use_id, content: result } = parseBody(given, toolResult);
    messages.push({ role: "tool", content: plainParts(result ?? ""), toolCallId: tool_use_id });
  }
  if (parts.length > 0 || messages.length === 0) messages.push({ role, content: parts });
  return messages;
}

function readAssistant(content: z.infer<typeof blocks>): Message {
  if (typeof content === "string") return { role: "assistant", content: plainParts(content) };
  const toolCalls: ToolCall[] = [];
  const parts: Part[] = [];
  for (const given of content) {
    if (given.type === "tool_use") {
      const { id, name, input, inputJson } = parseBody(given, toolUse);
      toolCalls.push({ id, name, arguments: input as Json, ...exactField("argumentsJson", inputJson, input) });
    } else if (given.type === "thinking") {
      parts.push({ type: "reasoning", text: parseBody(given, thinkingBlock).thinking });
    } else if (given.type !== "redacted_thinking") parts.push(...readPart(given));
  }
  return { role: "assistant", content: parts, ...(toolCalls.length === 0 ? {} : { toolCalls }) };
}

function plainParts(content: z.infer<typeof blocks>): readonly Part[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return content.flatMap(readPart);
}

function readPart(given: z.infer<typeof block>): readonly Part[] {
  if (given.type === "text") {
    const { text } = parseBody(given, textBlock);
    return text === "" ? [] : [{ type: "text", text }];
  }
  if (given.type !== "image") throw unsupported(`A block of type ${given.type}`);
  const { source } = parseBody(given, imageBlock);
  return [imagePart(source.type === "base64" ? `data:${source.media_type};base64,${source.data}` : "")];
}
