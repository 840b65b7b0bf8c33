import { z } from "zod";
import type { Message, Part, ToolCall } from "../../../src/contract/message.ts";
import { withoutUndefined } from "../../../src/core/without-undefined.ts";
import type { EarlierAnswers, ModelRequest } from "./dialect.ts";
import { chosenTools, toolSpec } from "./openai-tools.ts";
import {
  callArguments,
  imagePart,
  invalidRequest,
  parseBody,
  refuse,
  samplingOf,
  samplingShape,
  unsupported,
  withToolNames,
} from "./read-request.ts";
import { type OutputItem, outputItems } from "./responses-items.ts";

const contentPart = z.looseObject({ type: z.string() });
const content = z.union([z.string(), z.array(contentPart)]);
const inputItem = z.looseObject({ type: z.string().optional(), role: z.string().optional() });
type Content = z.infer<typeof content>;

const schema = z.object({
  model: z.string().default(""),
  input: z.union([z.string(), z.array(inputItem)]),
  instructions: z.string().nullish(),
  tools: z.array(z.looseObject({ type: z.string() })).nullish(),
  tool_choice: z.unknown().optional(),
  ...samplingShape,
  max_output_tokens: z.int().min(1).nullish(),
  previous_response_id: z.string().nullish(),
  stream: z.boolean().nullish(),
  include: z.array(z.string()).nullish(),
  top_logprobs: z.int().nullish(),
  text: z.object({ format: z.object({ type: z.string() }).nullish() }).nullish(),
  background: z.boolean().nullish(),
  conversation: z.unknown().optional(),
  prompt: z.unknown().optional(),
});

const functionTool = z.object({
  name: z.string().min(1),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.json()).nullish(),
  parametersJson: z.string().optional(),
});
const messageItem = z.object({ role: z.enum(["user", "assistant", "system", "developer"]), content });
const callItem = z.object({ call_id: z.string(), name: z.string(), arguments: z.string() });
const callOutput = z.object({ call_id: z.string(), output: content });
const reasoningText = z.array(z.object({ text: z.string() })).nullish();
const reasoningItem = z.object({ id: z.string().nullish(), summary: reasoningText, content: reasoningText });
const reference = z.object({ id: z.string() });
const textPart = z.object({ text: z.string() });
const refusalPart = z.object({ refusal: z.string() });
const imageInput = z.object({ image_url: z.string().nullish() });

/** The messages that come from `instructions`. They are not a part of a conversation that a later response continues. */
const instructionMessages = new WeakSet<Message>();

/** Reads the body of `/v1/responses`. */
export function readResponses(body: unknown, earlier: EarlierAnswers): ModelRequest {
  const given = parseBody(body, schema);
  refuse("background", given.background, [false]);
  refuse("conversation", given.conversation);
  refuse("prompt", given.prompt);
  refuse("text.format", given.text?.format?.type, ["text"]);
  refuse("top_logprobs", given.top_logprobs, [0]);
  const { input, instructions } = given;
  const items = typeof input === "string" ? [{ type: "message", role: "user", content: input }] : input;
  const tools = (given.tools ?? []).map((tool) => {
    refuse(`A tool of type ${tool.type}`, tool.type, ["function"]);
    return toolSpec(parseBody(tool, functionTool));
  });
  const messages = [
    ...(instructions ? [instructionMessage(instructions)] : []),
    ...previousConversation(given.previous_response_id, earlier),
    ...readItems(items, earlier),
  ];
  if (messages.length === 0) throw invalidRequest("input: there is no message.");
  return withoutUndefined<ModelRequest>({
    model: given.model,
    messages: withToolNames(messages),
    tools: chosenTools(tools, given.tool_choice),
    sampling: samplingOf(given, { maxTokens: given.max_output_tokens }),
    stream: given.stream ?? false,
    streamUsage: true,
    logprobs: given.include?.includes("message.output_text.logprobs") ?? false,
  });
}

function instructionMessage(text: string): Message {
  const message: Message = { role: "system", content: [{ type: "text", text }] };
  instructionMessages.add(message);
  return message;
}

function previousConversation(id: string | null | undefined, earlier: EarlierAnswers): readonly Message[] {
  if (!id) return [];
  const messages = earlier.conversation(id.replace(/^resp_/, ""));
  if (messages === undefined) throw invalidRequest("previous_response_id: this session has no such response.");
  return messages.filter((message) => !instructionMessages.has(message));
}

/** Joins the items of an assistant's turn (reasoning, text, calls, in this order) to one message. */
function readItems(items: readonly z.infer<typeof inputItem>[], earlier: EarlierAnswers): readonly Message[] {
  const messages: Message[] = [];
  let turn: { parts: Part[]; calls: ToolCall[]; stage: number } | undefined;
  const endTurn = (): void => {
    if (turn === undefined) return;
    const { parts: content, calls } = turn;
    messages.push({ role: "assistant", content, ...(calls.length === 0 ? {} : { toolCalls: calls }) });
    turn = undefined;
  };
  const inTurn = (stage: number): { parts: Part[]; calls: ToolCall[] } => {
    if (turn !== undefined && (stage < turn.stage || (stage === turn.stage && stage === 1))) endTurn();
    turn ??= { parts: [], calls: [], stage };
    turn.stage = stage;
    return turn;
  };
  for (const given of items.map((item) => resolved(item, earlier))) {
    const type = given.type ?? (given.role === undefined ? "" : "message");
    if (type === "reasoning") {
      const text = reasoningOfItem(parseBody(given, reasoningItem), earlier);
      inTurn(0).parts.push(...(text === "" ? [] : [{ type: "reasoning" as const, text }]));
    } else if (type === "message" && given.role === "assistant") {
      inTurn(1).parts.push(...readContent(parseBody(given, messageItem).content));
    } else if (type === "function_call") {
      const { call_id: id, name, arguments: text } = parseBody(given, callItem);
      inTurn(2).calls.push({ id, name, ...callArguments(text) });
    } else {
      endTurn();
      messages.push(readOther(given, type));
    }
  }
  endTurn();
  return messages;
}

function readOther(given: z.infer<typeof inputItem>, type: string): Message {
  if (type === "function_call_output") {
    const { call_id, output } = parseBody(given, callOutput);
    return { role: "tool", content: readContent(output), toolCallId: call_id };
  }
  if (type !== "message") throw unsupported(`An item of type ${type || "unknown"}`);
  const { role, content: parts } = parseBody(given, messageItem);
  return { role: role === "user" ? "user" : "system", content: readContent(parts) };
}

function readContent(given: Content): readonly Part[] {
  if (typeof given === "string") return given === "" ? [] : [{ type: "text", text: given }];
  return given.map((part) => {
    switch (part.type) {
      case "input_text":
      case "output_text":
      case "text":
        return { type: "text", text: parseBody(part, textPart).text };
      case "refusal":
        return { type: "text", text: parseBody(part, refusalPart).refusal };
      case "input_image":
        return imagePart(parseBody(part, imageInput).image_url ?? "");
      default:
        throw unsupported(`Content of type ${part.type}`);
    }
  });
}

/** Replaces a reference by the item of the earlier answer. */
function resolved(item: z.infer<typeof inputItem>, earlier: EarlierAnswers): z.infer<typeof inputItem> {
  if (item.type !== "item_reference") return item;
  const found = earlierItem(parseBody(item, reference).id, earlier);
  if (found === undefined) throw invalidRequest("item_reference: this session has no such item.");
  return { ...found };
}

/** Clients may keep the id of reasoning but not its text. */
function reasoningOfItem(given: z.infer<typeof reasoningItem>, earlier: EarlierAnswers): string {
  const parts = given.content?.length ? given.content : (given.summary ?? []);
  if (parts.length > 0) return parts.map(({ text }) => text).join("");
  const found = earlierItem(given.id ?? "", earlier);
  return found?.type === "reasoning" ? found.content.map(({ text }) => text).join("") : "";
}

function earlierItem(id: string, earlier: EarlierAnswers): OutputItem | undefined {
  const call = /^[a-z]+_([0-9a-f]+)(_\d+)?$/.exec(id)?.[1];
  const message = call === undefined ? undefined : earlier.conversation(call)?.at(-1);
  return message && outputItems(call!, message).find((item) => item.id === id);
}
