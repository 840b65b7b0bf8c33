import type { AgentId } from "../../contract/action.ts";
import type { EnvironmentFactory } from "../../contract/environment.ts";
import { LyceumError, unknownNameError } from "../../contract/errors/index.ts";
import type { Policy } from "../../contract/policy.ts";
import { defaultSampling, type SamplingSettings } from "../../contract/sampler.ts";
import type { TaskEntry, Taskset } from "../../contract/taskset.ts";
import { contractError } from "../environment/environment-error.ts";
import type { TraceWriter } from "../trace/trace-writer.ts";
import { specProblem } from "./contract-problem.ts";
import { EnvironmentPool } from "./environment-pool.ts";
import { FlushBarrier } from "./flush-barrier.ts";
import { type RolloutLimits, resolveLimits } from "./rollout-limits.ts";
import type { RunSettings } from "./run-settings.ts";
import { TimeSlice } from "./time-slice.ts";

/** What every kind of rollout is given. */
export interface PlayOptions<Task> {
  /** A pool is used and left open; of a factory, instances are made for this rollout and closed after it. */
  readonly environment: EnvironmentFactory<Task> | EnvironmentPool<Task>;
  /** One policy for all agents, or one for each by name. */
  readonly policies: Policy | Readonly<Record<AgentId, Policy>>;
  /** Everything random derives from it, the task, the group member, the agent and the turn. */
  readonly seed: number;
  /** Temperature 1 and at most 256 tokens an action by default. */
  readonly sampling?: SamplingSettings;
  readonly limits?: Partial<RolloutLimits>;
  /** Gets each episode once it is complete. A write that fails ends the rollout. */
  readonly trace?: Pick<TraceWriter, "write">;
  readonly signal?: AbortSignal;
}

/** A task to play. */
export interface PlannedTask<Task> extends TaskEntry<Task> {
  /** The members of its group to play, such as those that an earlier rollout did not get to; all by default. */
  readonly members?: readonly number[];
}

/** What {@link rollout} is given. */
export interface RolloutOptions<Task> extends PlayOptions<Task> {
  /** A taskset is played whole (one without end until the consumer stops); else these tasks in this order. */
  readonly tasks: Taskset<Task> | Iterable<PlannedTask<Task>> | AsyncIterable<PlannedTask<Task>>;
  /** How often each task is played; 1 by default. */
  readonly groupSize?: number;
  /** Tasks at the beginning that an earlier rollout played: passed over, so that the rest plays as if after them. */
  readonly skip?: number;
  /**
   * An episode ends with the turn by which its agents earned more than this, on average; nothing is missing from it, so
   * they count as terminated. Absent, only the environment and the limits end episodes.
   */
  readonly terminationThreshold?: number;
  /** Frozen agents, whose rewards do not count for that. None by default. */
  readonly partners?: readonly AgentId[];
  /** The most episodes at once; 64 by default. A batching policy sees batches of up to this size. */
  readonly concurrency?: number;
}

/** The shared parts of a rollout, from its options. Throws for options that cannot work. */
export function runSettings<Task>(options: PlayOptions<Task>, pool: EnvironmentPool<Task>): RunSettings<Task> {
  const { spec } = pool.factory;
  const problem = specProblem(spec);
  if (problem !== undefined) {
    const rule = "Its spec needs agents, each with a name of its own, and a maxTurns of 1 or more.";
    throw contractError({ environment: spec.id, problem, rule });
  }
  const policies = policiesByAgent(spec.agents, options.policies);
  const batches = [...policies.values()].some((policy) => policy.flush !== undefined);
  return {
    pool,
    policies,
    limits: resolveLimits(options.limits),
    sampling: options.sampling ?? defaultSampling,
    slice: new TimeSlice(),
    barrier: batches ? new FlushBarrier() : undefined,
  };
}

/** The pool to play in, and whether it is the caller's own. */
export function poolOf<Task>(
  environment: EnvironmentFactory<Task> | EnvironmentPool<Task>,
  onCloseError?: ConstructorParameters<typeof EnvironmentPool>[1],
): { readonly pool: EnvironmentPool<Task>; readonly owned: boolean } {
  if (environment instanceof EnvironmentPool) return { pool: environment, owned: false };
  return { pool: new EnvironmentPool(environment, onCloseError), owned: true };
}

/** The most episodes that are played at once, and the most of one task. */
export const mostAtOnce = 100_000;

/** Throws `config.invalid` unless `value` is a whole number above 0, and not above `most`. */
export function checkCount(name: string, value: number, most: number = Number.MAX_SAFE_INTEGER): number {
  if (Number.isSafeInteger(value) && value > 0 && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? "above 0" : `from 1 to ${most.toLocaleString("en")}`;
  throw new LyceumError({
    code: "config.invalid",
    message: `${name} must be a whole number ${range}, got ${value}.`,
  });
}

function policiesByAgent(
  agents: readonly AgentId[],
  policies: Policy | Readonly<Record<AgentId, Policy>>,
): Map<AgentId, Policy> {
  if (isPolicy(policies)) return new Map(agents.map((agent) => [agent, policies]));
  for (const name of Object.keys(policies)) {
    if (!agents.includes(name)) throw unknownNameError({ kind: "agent", name, known: agents });
  }
  const missing = agents.filter((agent) => !Object.hasOwn(policies, agent));
  if (missing.length === 0) return new Map(agents.map((agent) => [agent, policies[agent]!]));
  throw new LyceumError({
    code: "config.invalid",
    message: `No policy is given for ${missing.map((agent) => `agent "${agent}"`).join(", ")}.`,
    hint: "Give one policy for all agents, or one for each of them by name.",
    data: { missing, agents: [...agents] },
  });
}

function isPolicy(policies: Policy | Readonly<Record<AgentId, Policy>>): policies is Policy {
  return typeof policies.act === "function";
}
