import { z } from "zod";
import type { Action, AgentId } from "../../../src/contract/action.ts";
import type { Json, JsonObject } from "../../../src/contract/json.ts";
import { textOf } from "../../../src/contract/message.ts";
import type { SessionEpisode, SessionStepResult } from "../../session/session.ts";
import type { OpenEnvDialect } from "./dialect.ts";
import { agentStepSchema, observationsSchema } from "./lyceum-schema.ts";

const episodeSchema = z.object({
  observations: observationsSchema,
  episode_id: z.string(),
  seed: z.number(),
  split: z.string(),
  index: z.number(),
  task_id: z.string(),
});

const resultSchema = z.object({
  observations: observationsSchema,
  agents: z.record(z.string(), agentStepSchema),
  correct: z.boolean().optional(),
  info: z.json().optional(),
});

/**
 * The fields of a Lyceum server. They contain the contract's own values in addition to the text, so that a remote
 * episode equals a local one.
 */
export const lyceumDialect: OpenEnvDialect = {
  reset: ({ seed = 0, split, index, episodeId }) => ({
    seed,
    ...(split === undefined ? {} : { split }),
    ...(index === undefined ? {} : { index }),
    ...(episodeId === undefined ? {} : { episode_id: episodeId }),
  }),
  step: (actions, { stepId }) => {
    const agents = Object.entries(actions);
    const fields: JsonObject =
      agents.length === 1
        ? actionFields(agents[0]![1])
        : { text: "", actions: Object.fromEntries(agents.map(([agent, action]) => [agent, actionFields(action)])) };
    return {
      ...fields,
      ...(stepId === undefined ? {} : { step_id: stepId }),
      metadata: { lyceum_actions: plain(actions) },
    };
  },
  episode: ({ observation }): SessionEpisode => {
    const { episode_id: episodeId, task_id: taskId, ...rest } = episodeSchema.parse(observation);
    return { ...rest, episodeId, taskId } as SessionEpisode;
  },
  result: ({ observation, done }): SessionStepResult =>
    ({ ...resultSchema.parse(observation), done }) as SessionStepResult,
};

function actionFields({ message }: Action): JsonObject {
  const { toolCalls = [] } = message;
  return {
    text: textOf(message),
    ...(toolCalls.length === 0
      ? {}
      : { tool_calls: toolCalls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given })) }),
  };
}

/** The full actions. A plain client cannot express parts, finish reasons or parse errors. */
function plain(actions: Readonly<Record<AgentId, Action>>): Json {
  return JSON.parse(JSON.stringify(actions)) as Json;
}
