import type { Action, AgentId } from "../../../src/contract/action.ts";
import type { JsonObject } from "../../../src/contract/json.ts";
import type { SessionEpisode, SessionReset, SessionStepResult } from "../../session/session.ts";

/** The `data` of an observation message. */
export interface ObservationData {
  readonly observation: JsonObject;
  readonly reward: number | null;
  readonly done: boolean;
}

/** What the actions and observations of an OpenEnv server mean: OpenEnv leaves their fields to the environment. */
export interface OpenEnvDialect {
  /** Returns the data of a reset message. */
  reset(options: SessionReset): JsonObject;
  /** Returns the data of a step message. */
  step(actions: Readonly<Record<AgentId, Action>>, options: { readonly stepId?: string | undefined }): JsonObject;
  /** Returns the start of an episode. Throws an error with the problem if the answer cannot be read. */
  episode(data: ObservationData, options: SessionReset): SessionEpisode;
  /** Returns the result of a step. Throws an error with the problem if the answer cannot be read. */
  result(data: ObservationData): SessionStepResult;
}
