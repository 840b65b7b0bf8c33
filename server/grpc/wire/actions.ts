import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Action, AgentId } from "../../../src/contract/action.ts";
import type * as wire from "../generated/lyceum/v1/messages_pb.ts";
import type { ActionSchema } from "../generated/lyceum/v1/messages_pb.ts";
import { invalidRequest } from "./invalid-request.ts";
import { fromWireMessage, toWireMessage } from "./messages.ts";

const finishes: readonly string[] = ["stop", "length", "tool-calls", "error"] satisfies Action["finish"][];

/** Returns an action in its wire form. */
export function toWireAction({ message, finish, parseErrors = [] }: Action): MessageInitShape<typeof ActionSchema> {
  return {
    message: toWireMessage(message),
    finish,
    parseErrors: parseErrors.map(({ message: problem, text }) => ({ message: problem, text })),
  };
}

/** Returns the action of a wire form. Throws `server.invalid-request` if it has no message of an assistant. */
function fromWireAction({ message, finish, parseErrors }: wire.Action): Action {
  if (message === undefined) throw invalidRequest("An action has no message.", "Set the assistant's message.");
  if (finish !== "" && !finishes.includes(finish)) {
    throw invalidRequest(`An action has the finish "${finish}".`, `Use ${finishes.join(", ")}.`);
  }
  const read = fromWireMessage(message);
  if (read.role !== "assistant") {
    throw invalidRequest(`The message of an action has the role "${read.role}".`, 'Use "assistant".');
  }
  return {
    message: read,
    finish: finish === "" ? "stop" : (finish as Action["finish"]),
    ...(parseErrors.length === 0
      ? {}
      : { parseErrors: parseErrors.map(({ message: problem, text }) => ({ message: problem, text })) }),
  };
}

/** Returns the actions of a step by agent. */
export function fromWireActions(actions: Readonly<Record<string, wire.Action>>): Readonly<Record<AgentId, Action>> {
  return Object.fromEntries(Object.entries(actions).map(([agent, action]) => [agent, fromWireAction(action)]));
}

/** Returns the actions of a step by agent in their wire form. */
export function toWireActions(
  actions: Readonly<Record<AgentId, Action>>,
): Record<string, MessageInitShape<typeof ActionSchema>> {
  return Object.fromEntries(Object.entries(actions).map(([agent, action]) => [agent, toWireAction(action)]));
}
