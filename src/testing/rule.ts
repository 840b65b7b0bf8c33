import type { Environment, EnvironmentDefinition } from "../contract/environment.ts";
import type { TaskEntry } from "../contract/taskset.ts";
import type { ActionPlan } from "./action-plan.ts";
import type { PlayedEpisode } from "./play-episode.ts";

/** The input of a rule about a definition. */
export interface DefinitionCase {
  readonly environment: EnvironmentDefinition;
  /** The timeout of one call of an instance, in milliseconds. */
  readonly callMs: number;
  readonly signal?: AbortSignal;
}

/** The input of a rule about a task. */
export interface TaskCase extends DefinitionCase {
  readonly task: TaskEntry;
  readonly seed: number;
}

/** The input of a rule about an episode of a task. */
export interface EpisodeCase extends TaskCase {
  readonly plan: ActionPlan;
}

/** The input of a rule about a played episode. Its instance is free again. */
export interface PlayedCase extends EpisodeCase {
  readonly instance: Environment;
  readonly episode: PlayedEpisode;
}

/** A rule that every environment must follow. */
export interface Rule<Case> {
  readonly name: string;
  /** What an author must do to follow it. */
  readonly hint: string;
  /** Returns what is wrong, in words that follow the environment's name. Returns undefined if the rule is followed. */
  readonly check: (given: Case) => string | undefined | Promise<string | undefined>;
}
