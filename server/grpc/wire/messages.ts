import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Json } from "../../../src/contract/json.ts";
import type { Message, Part, Role, ToolCall, ToolSpec } from "../../../src/contract/message.ts";
import { exactText, tryParseExactJson } from "../../../src/core/text/exact-json.ts";
import { withoutUndefined } from "../../../src/core/without-undefined.ts";
import type * as wire from "../generated/lyceum/v1/messages_pb.ts";
import type { MessageSchema, PartSchema, ToolCallSchema, ToolSpecSchema } from "../generated/lyceum/v1/messages_pb.ts";
import { invalidRequest } from "./invalid-request.ts";
import { fromValue, toValue } from "./json-value.ts";

const roles: readonly string[] = ["system", "user", "assistant", "tool"] satisfies Role[];

/** Returns a message in its wire form. */
export function toWireMessage(message: Message): MessageInitShape<typeof MessageSchema> {
  const { role, content, toolCalls = [], toolCallId, name } = message;
  return {
    role,
    content: content.map(toWirePart),
    toolCalls: toolCalls.map(toWireCall),
    toolCallId,
    name,
  };
}

/** Returns the message of a wire form. Throws `server.invalid-request` for an unknown role or an empty part. */
export function fromWireMessage(message: wire.Message): Message {
  const { role, content, toolCalls, toolCallId, name } = message;
  if (!roles.includes(role)) throw invalidRequest(`A message has the role "${role}".`, `Use ${roles.join(", ")}.`);
  return {
    role: role as Role,
    content: content.map(fromWirePart),
    ...(toolCalls.length === 0 ? {} : { toolCalls: toolCalls.map(fromWireCall) }),
    ...withoutUndefined({ toolCallId, name }),
  };
}

/** Returns a tool in its wire form. */
export function toWireTool(tool: ToolSpec): MessageInitShape<typeof ToolSpecSchema> {
  const { name, description, parameters, parametersJson } = tool;
  return { name, description, parameters: toValue(parameters), parametersJson: exactJson(parameters, parametersJson) };
}

/** Returns the tool of a wire form. */
export function fromWireTool({ name, description, parameters, parametersJson }: wire.ToolSpec): ToolSpec {
  const { value, exact } = readExact("parameters", parameters, parametersJson);
  return { name, description, parameters: value, ...(exact === undefined ? {} : { parametersJson: exact }) };
}

function toWirePart(part: Part): MessageInitShape<typeof PartSchema> {
  if (part.type === "image") {
    return { part: { case: "image", value: { mediaType: part.mediaType, data: part.data } } };
  }
  return { part: { case: part.type, value: part.text } };
}

function fromWirePart({ part }: wire.Part): Part {
  if (part.case === undefined)
    throw invalidRequest("A message has a part without content.", "Set text, reasoning or image.");
  if (part.case === "image") return { type: "image", mediaType: part.value.mediaType, data: part.value.data };
  return { type: part.case, text: part.value };
}

function toWireCall({ id, name, arguments: given, argumentsJson }: ToolCall): MessageInitShape<typeof ToolCallSchema> {
  return { id, name, arguments: toValue(given), argumentsJson: exactJson(given, argumentsJson) };
}

function fromWireCall({ id, name, arguments: given, argumentsJson }: wire.ToolCall): ToolCall {
  const { value, exact } = readExact("arguments", given, argumentsJson);
  return { id, name, arguments: value, ...(exact === undefined ? {} : { argumentsJson: exact }) };
}

/** Returns the text that a value needs besides its wire form. Undefined for most values. */
function exactJson(value: Json, text: string | undefined): string | undefined {
  return text ?? (hasLargeInteger(value) ? JSON.stringify(value) : undefined);
}

/**
 * Returns the value of a wire form, and its exact text if it needs one. Throws `server.invalid-request` for a text that is
 * not JSON, and for an integer beyond 2^53 without a text, because the client may have rounded it.
 */
function readExact(
  field: string,
  given: wire.ToolCall["arguments"],
  text: string | undefined,
): { readonly value: Json; readonly exact: string | undefined } {
  if (text !== undefined) {
    const value = tryParseExactJson(text, "text");
    if (value === undefined) throw invalidRequest(`${field}_json is not JSON.`, `Send the JSON text of ${field}.`);
    return { value, exact: exactText(text) };
  }
  const value = fromValue(given);
  if (hasLargeInteger(value)) {
    throw invalidRequest(
      `${field} has an integer beyond 2^53, which a number of google.protobuf.Value does not hold exactly.`,
      `Send the JSON text of ${field} as ${field}_json.`,
    );
  }
  return { value, exact: undefined };
}

function hasLargeInteger(value: Json): boolean {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some((part) => part !== undefined && hasLargeInteger(part));
}
