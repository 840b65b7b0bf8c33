import { match } from "ts-pattern";
import { LyceumError } from "../../../contract/errors/index.ts";
import { type Message, type Part, servedRole } from "../../../contract/message.ts";
import type { ActRequest } from "../../../contract/policy.ts";
import { writtenAs } from "../../text/exact-json.ts";
import type { AiSdkModel, CallOptions } from "./language-model.ts";

type Prompt = CallOptions["prompt"];
type FunctionTool = Extract<NonNullable<CallOptions["tools"]>[number], { readonly type: "function" }>;
type UserPart = Extract<Prompt[number], { readonly role: "user" }>["content"][number];
type AssistantPart = Extract<Prompt[number], { readonly role: "assistant" }>["content"][number];
type Version = AiSdkModel["specificationVersion"];

/** The settings of a call that can be left out, by their names in the AI SDK. */
export const callSettings = ["maxOutputTokens", "temperature", "topP", "topK", "seed", "stopSequences"] as const;

/** The name of a setting of a call. */
export type CallSetting = (typeof callSettings)[number];

/**
 * Converts a request to the AI SDK's form, without the settings of `omit`. Tools are sent as schemas for the environment
 * to execute. Earlier reasoning is omitted, because providers accept only reasoning that they signed. Throws
 * `policy.unsupported-input` for an image in a message that cannot contain one, and for min-p and variables of a chat
 * template, which the interface lacks.
 */
export function callOptions(
  { messages, tools = [], templateVariables, sampling, seed }: ActRequest,
  options: { readonly version: Version; readonly signal: AbortSignal; readonly omit?: readonly CallSetting[] },
): CallOptions {
  const { temperature, maxTokens, topP, topK, minP, stop = [] } = sampling;
  const missing = minP === undefined ? "variables of a chat template" : "min-p";
  if (minP !== undefined || templateVariables !== undefined) {
    throw new LyceumError({
      code: "policy.unsupported-input",
      message: `The AI SDK has no setting for ${missing}.`,
      hint: "Remove it, or use an OpenAI-compatible server that supports it.",
    });
  }
  const call: CallOptions = {
    prompt: promptOf(messages, options.version),
    maxOutputTokens: maxTokens,
    temperature,
    // Providers store a seed in 32 bits, some of them signed.
    seed: seed % 2 ** 31,
    abortSignal: options.signal,
    topP,
    topK,
    ...(stop.length === 0 ? {} : { stopSequences: [...stop] }),
    ...(tools.length === 0 ? {} : { tools: tools.map(functionTool) }),
  };
  for (const setting of options.omit ?? []) delete call[setting];
  return call;
}

function functionTool(tool: NonNullable<ActRequest["tools"]>[number]): FunctionTool {
  const { name, description, parameters, parametersJson } = tool;
  const inputSchema = parametersJson === undefined ? parameters : writtenAs(parametersJson);
  return { type: "function", name, description, inputSchema: inputSchema as FunctionTool["inputSchema"] };
}

function promptOf(messages: readonly Message[], version: Version): Prompt {
  const calledTools = new Map<string, string>();
  for (const { toolCalls = [] } of messages) for (const { id, name } of toolCalls) calledTools.set(id, name);
  return messages.map((message) => promptMessage(message, { version, calledTools }));
}

function promptMessage(
  message: Message,
  { version, calledTools }: { readonly version: Version; readonly calledTools: ReadonlyMap<string, string> },
): Prompt[number] {
  const { content, toolCalls = [], toolCallId = "" } = message;
  const role = servedRole(message);
  switch (role) {
    case "system":
      return { role, content: textOnly(message) };
    case "user":
      return { role, content: content.flatMap((part) => userPart(part, version)) };
    case "assistant": {
      const text = textOnly(message);
      const parts: AssistantPart[] = text === "" && toolCalls.length > 0 ? [] : [{ type: "text", text }];
      for (const { id, name, arguments: given, argumentsJson } of toolCalls) {
        // Providers write the input as JSON.
        const input = argumentsJson === undefined ? given : writtenAs(argumentsJson);
        parts.push({ type: "tool-call", toolCallId: id, toolName: name, input });
      }
      return { role, content: parts };
    }
    case "tool": {
      const toolName = message.name ?? calledTools.get(toolCallId) ?? "tool";
      const output = { type: "text", value: textOnly(message) } as const;
      return { role, content: [{ type: "tool-result", toolCallId, toolName, output }] };
    }
  }
}

function userPart(part: Part, version: Version): readonly UserPart[] {
  return match(part)
    .returnType<readonly UserPart[]>()
    .with({ type: "reasoning" }, () => [])
    .with({ type: "text" }, ({ text }) => [{ type: "text", text }])
    .with({ type: "image" }, ({ mediaType, data }) => {
      if (version === "v4") return [{ type: "file", mediaType, data: { type: "data", data } }];
      return [{ type: "file", mediaType, data } as unknown as UserPart];
    })
    .exhaustive();
}

function textOnly({ role, content }: Message): string {
  let text = "";
  for (const part of content) {
    if (part.type === "text") text += part.text;
    if (part.type === "image") {
      throw new LyceumError({
        code: "policy.unsupported-input",
        message: `The AI SDK does not support images in a ${role} message.`,
        hint: "Send images in user messages.",
        data: { role },
      });
    }
  }
  return text;
}
