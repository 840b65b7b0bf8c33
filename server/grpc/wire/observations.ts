import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Observation, Observations } from "../../../src/contract/environment.ts";
import type { ToolSpec } from "../../../src/contract/message.ts";
import type * as wire from "../generated/lyceum/v1/messages_pb.ts";
import type { ObservationSchema, ToolListSchema } from "../generated/lyceum/v1/messages_pb.ts";
import { jsonField, valueField } from "./json-value.ts";
import { fromWireMessage, fromWireTool, toWireMessage, toWireTool } from "./messages.ts";

/** Returns observations by agent in their wire form. */
export function toWireObservations(
  observations: Observations,
): Record<string, MessageInitShape<typeof ObservationSchema>> {
  return Object.fromEntries(Object.entries(observations).map(([agent, each]) => [agent, toWireObservation(each)]));
}

/** Returns the observations of a wire form. */
export function fromWireObservations(observations: Readonly<Record<string, wire.Observation>>): Observations {
  return Object.fromEntries(Object.entries(observations).map(([agent, each]) => [agent, fromWireObservation(each)]));
}

/** Returns a list of tools in its wire form. */
export function toWireTools(
  tools: readonly ToolSpec[] | undefined,
): MessageInitShape<typeof ToolListSchema> | undefined {
  return tools === undefined ? undefined : { tools: tools.map(toWireTool) };
}

/** Returns the field with the tools of a wire form, or no field if they are absent. */
export function fromWireTools(list: wire.ToolList | undefined): { readonly tools?: readonly ToolSpec[] } {
  return list === undefined ? {} : { tools: list.tools.map(fromWireTool) };
}

function toWireObservation({
  messages,
  context,
  tools,
  info,
}: Observation): MessageInitShape<typeof ObservationSchema> {
  return {
    messages: messages.map(toWireMessage),
    replace: context === "replace",
    tools: toWireTools(tools),
    ...valueField("info", info),
  };
}

function fromWireObservation({ messages, replace, tools, info }: wire.Observation): Observation {
  return {
    messages: messages.map(fromWireMessage),
    context: replace ? "replace" : "append",
    ...fromWireTools(tools),
    ...jsonField("info", info),
  };
}
