import type { Action, AgentId } from "../../../src/contract/action.ts";
import type { Observations } from "../../../src/contract/environment.ts";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { isJsonObject, type JsonObject } from "../../../src/contract/json.ts";
import { type Message, textMessage, textOf } from "../../../src/contract/message.ts";
import { scored } from "../../../src/contract/reward.ts";
import { extractJson } from "../../../src/core/parsers/extract-json.ts";
import { tryParseExactJson } from "../../../src/core/text/exact-json.ts";
import type { OpenEnvDialect } from "./dialect.ts";

const agent: AgentId = "agent";

/** The actions of a server, as its JSON Schema describes them. */
export interface PlainActions {
  /**
   * The field for the answer's text: the only required field. Absent if there are none or several, or if it is no text.
   */
  readonly textField?: string;
  readonly schema: JsonObject;
  /** True if the server takes tool calls of MCP as actions. */
  readonly takesCalls: boolean;
  /** The server's description of the environment. The first message contains it. */
  readonly description?: string | undefined;
}

/** Reads how a server takes actions from the schema of its `/schema` route. */
export function plainActions(schema: JsonObject, options: { readonly takesCalls: boolean }): PlainActions {
  const { properties, required } = schema;
  const names = Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
  const [only] = names;
  const field = isJsonObject(properties) && only !== undefined ? properties[only] : undefined;
  const takesText = names.length === 1 && isJsonObject(field) && field.type === "string";
  return { schema, ...options, ...(takesText ? { textField: only as string } : {}) };
}

/**
 * The dialect of an OpenEnv server that knows nothing of Lyceum. One agent acts. An observation becomes a user message,
 * and the answer's text fills the action's one required text field. A server whose actions have other fields gets the
 * JSON object in the answer.
 */
export function plainDialect(actions: PlainActions): OpenEnvDialect {
  return {
    reset: ({ seed = 0, split, index, episodeId }) => ({
      seed,
      ...(split === undefined ? {} : { split, index: index ?? seed }),
      ...(episodeId === undefined ? {} : { episode_id: episodeId }),
    }),
    step: (given) => actionData(Object.values(given)[0]!, actions),
    episode: ({ observation, done }, { seed = 0, split = "train", index = seed, episodeId = "" }) => ({
      episodeId,
      seed,
      split,
      index,
      taskId: String(index),
      observations: done
        ? {}
        : observed([...introduction(actions), { ...textMessage("user", observationText(observation)) }]),
    }),
    result: ({ observation, reward, done }) => ({
      observations: done ? {} : observed([textMessage("user", observationText(observation))]),
      agents: {
        [agent]: { ...(reward === null ? {} : { reward: scored(reward) }), terminated: done, truncated: false },
      },
      ...(isJsonObject(observation.metadata) && Object.keys(observation.metadata).length > 0
        ? { info: { metadata: observation.metadata } }
        : {}),
      done,
    }),
  };
}

function observed(messages: readonly Message[]): Observations {
  return { [agent]: { messages, context: "append" } };
}

/** The first message: what the environment is, and the form of an action that is more than a text. */
function introduction({ description, textField, schema, takesCalls }: PlainActions): readonly Message[] {
  const form =
    textField === undefined && !takesCalls
      ? `Answer with a JSON object that follows this schema:\n${JSON.stringify(schema)}`
      : undefined;
  const text = [description, form].filter((part) => part !== undefined && part !== "").join("\n\n");
  return text === "" ? [] : [textMessage("system", text)];
}

/** Returns the text of an observation: its only text field, or its fields as JSON. Metadata is for programs. */
function observationText(observation: JsonObject): string {
  const { metadata: _, ...fields } = observation;
  const shown = Object.entries(fields).filter(([, value]) => value !== null);
  const [first] = shown;
  if (shown.length === 1 && typeof first![1] === "string") return first![1];
  return JSON.stringify(Object.fromEntries(shown), null, 2);
}

function actionData({ message }: Action, { textField, takesCalls }: PlainActions): JsonObject {
  const [call] = message.toolCalls ?? [];
  if (takesCalls && call !== undefined) {
    return { type: "call_tool", tool_name: call.name, arguments: isJsonObject(call.arguments) ? call.arguments : {} };
  }
  const text = textOf(message);
  if (textField !== undefined) return { [textField]: text };
  const object = tryParseExactJson(text) ?? extractJson(text);
  if (isJsonObject(object)) return object;
  throw new LyceumError({
    code: "environment.failed",
    message: "The answer contains no JSON object, and an action of this environment is one.",
    hint: "The first message of the episode shows the schema of an action.",
    data: { reason: "no-action" },
  });
}
