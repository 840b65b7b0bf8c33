import type { Environment, EnvironmentDefinition } from "../contract/environment.ts";
import type { TaskEntry } from "../contract/taskset.ts";
import type { ActionPlan } from "./action-plan.ts";
import type { PlayedEpisode } from "./play-episode.ts";

/** What a rule of a definition is tried on. */
export interface DefinitionCase {
  readonly environment: EnvironmentDefinition;
  /** The most milliseconds of one call of an instance. */
  readonly callMs: number;
  readonly signal?: AbortSignal;
}

/** What a rule of a task is tried on. */
export interface TaskCase extends DefinitionCase {
  readonly task: TaskEntry;
  readonly seed: number;
}

/** What agents do in one episode of a task. */
export interface EpisodeCase extends TaskCase {
  readonly plan: ActionPlan;
}

/** What a rule of episodes is tried on: one that was played, on an instance that is free again. */
export interface PlayedCase extends EpisodeCase {
  readonly instance: Environment;
  readonly episode: PlayedEpisode;
}

/** A rule that every environment keeps. */
export interface Rule<Case> {
  readonly name: string;
  /** What an author does to keep it. */
  readonly hint: string;
  /** What is wrong, in words that follow the environment's name; undefined where the rule is kept. */
  readonly check: (given: Case) => string | undefined | Promise<string | undefined>;
}
