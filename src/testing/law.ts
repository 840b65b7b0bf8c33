import type { EnvironmentDefinition } from "../environment/environment.ts";
import type { TaskEntry } from "../taskset/taskset.ts";

/** What a law is tried on. */
export interface LawCase<Task = unknown> {
  readonly environment: EnvironmentDefinition<Task>;
  readonly task: TaskEntry<Task>;
  readonly seed: number;
  readonly signal?: AbortSignal;
}

/** A rule that every environment keeps. */
export interface Law {
  readonly name: string;
  /** What is wrong, in words that follow the environment's name; undefined where the law is kept. */
  readonly check: (given: LawCase) => string | undefined | Promise<string | undefined>;
}
