import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Message, Part, Role, ToolCall, ToolSpec } from "../../../src/contract/message.ts";
import { withoutUndefined } from "../../../src/core/without-undefined.ts";
import type * as wire from "../generated/lyceum/v1/messages_pb.ts";
import type { MessageSchema, PartSchema, ToolSpecSchema } from "../generated/lyceum/v1/messages_pb.ts";
import { invalidRequest } from "./invalid-request.ts";
import { fromValue, toValue } from "./json-value.ts";

const roles: readonly string[] = ["system", "user", "assistant", "tool"] satisfies Role[];

/** Returns a message in its wire form. */
export function toWireMessage(message: Message): MessageInitShape<typeof MessageSchema> {
  const { role, content, toolCalls = [], toolCallId, name } = message;
  return {
    role,
    content: content.map(toWirePart),
    toolCalls: toolCalls.map(({ id, name: tool, arguments: given }) => ({ id, name: tool, arguments: toValue(given) })),
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
export function toWireTool({ name, description, parameters }: ToolSpec): MessageInitShape<typeof ToolSpecSchema> {
  return { name, description, parameters: toValue(parameters) };
}

/** Returns the tool of a wire form. */
export function fromWireTool({ name, description, parameters }: wire.ToolSpec): ToolSpec {
  return { name, description, parameters: fromValue(parameters) };
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

function fromWireCall({ id, name, arguments: given }: wire.ToolCall): ToolCall {
  return { id, name, arguments: fromValue(given) };
}
