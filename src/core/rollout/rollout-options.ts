import type { AgentId } from "../../contract/action.ts";
import type { EnvironmentFactory } from "../../contract/environment.ts";
import { LyceumError, unknownNameError } from "../../contract/errors/index.ts";
import type { Policy } from "../../contract/policy.ts";
import { defaultSampling, type SamplingSettings } from "../../contract/sampler.ts";
import { checkVersion } from "../../contract/specification-version.ts";
import type { TaskEntry, Taskset } from "../../contract/taskset.ts";
import { contractError } from "../environment/environment-error.ts";
import type { TraceWriter } from "../trace/trace-writer.ts";
import { specProblem } from "./contract-problem.ts";
import { EnvironmentPool } from "./environment-pool.ts";
import { FlushBarrier } from "./flush-barrier.ts";
import { type RolloutLimits, resolveLimits } from "./rollout-limits.ts";
import type { RunSettings } from "./run-settings.ts";
import { TimeSlice } from "./time-slice.ts";

/** The common options of all rollouts. */
export interface PlayOptions<Task> {
  /** A pool, which stays open, or a factory, whose instances are created for this rollout and closed after it. */
  readonly environment: EnvironmentFactory<Task> | EnvironmentPool<Task>;
  /** One policy for all agents, or one per agent by name. */
  readonly policies: Policy | Readonly<Record<AgentId, Policy>>;
  /** All randomness derives from this seed, the task, the sample index, the agent and the turn. */
  readonly seed: number;
  /** Temperature 1 and at most 256 tokens per action by default. */
  readonly sampling?: SamplingSettings;
  readonly limits?: Partial<RolloutLimits>;
  /** Receives each complete episode. A failed write ends the rollout. */
  readonly trace?: Pick<TraceWriter, "write">;
  readonly signal?: AbortSignal;
}

/** A task to play. */
export interface PlannedTask<Task> extends TaskEntry<Task> {
  /** The samples of the group to play, such as those that are missing from an earlier rollout. All by default. */
  readonly sampleIndices?: readonly number[];
}

/**
 * The options of {@link rollout}.
 *
 * @example
 * import { type RolloutOptions, scriptedPolicy } from "lyceum";
 * import { mathEnvironment } from "lyceum/environments";
 * const environment = mathEnvironment({ tasks: "arithmetic" });
 * const options: RolloutOptions<unknown> = {
 *   environment,
 *   tasks: await environment.tasks("test[:2]"),
 *   policies: scriptedPolicy(["12"]),
 *   groupSize: 8,
 *   seed: 1,
 *   limits: { turns: 3 },
 * };
 * options.groupSize; // => 8
 */
export interface RolloutOptions<Task> extends PlayOptions<Task> {
  /** A taskset, which is played completely (until the consumer stops, if unbounded), or tasks in the order to play. */
  readonly tasks: Taskset<Task> | Iterable<PlannedTask<Task>> | AsyncIterable<PlannedTask<Task>>;
  /** The number of episodes per task. 1 by default. */
  readonly groupSize?: number;
  /**
   * The number of first tasks to skip, because an earlier rollout played them. Does not change the seeds of the others.
   */
  readonly skip?: number;
  /**
   * An episode ends after a step whose mean reward over agents is above this threshold. Its agents are terminated. By
   * default only the environment and the limits end episodes.
   */
  readonly terminationThreshold?: number;
  /** Frozen agents. Their rewards do not count for the threshold. None by default. */
  readonly partners?: readonly AgentId[];
  /** The maximum number of concurrent episodes, and of requests in a batch of a batching policy. 64 by default. */
  readonly concurrency?: number;
}

/** Returns the shared settings of a rollout from its options. Throws if options are invalid. */
export function runSettings<Task>(options: PlayOptions<Task>, pool: EnvironmentPool<Task>): RunSettings<Task> {
  const { spec } = pool.factory;
  checkVersion(`Environment "${spec.id}"`, pool.factory);
  const problem = specProblem(spec);
  if (problem !== undefined) {
    const rule = "Its spec needs agents, each with a name of its own, and a maxTurns of 1 or more.";
    throw contractError({ environment: spec.id, problem, rule });
  }
  const policies = policiesByAgent(spec.agents, options.policies);
  for (const policy of policies.values()) checkVersion(`Policy "${policy.name}"`, policy);
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

/** Returns the pool of a rollout. `owned` is true if it was created here and must be closed. */
export function poolOf<Task>(
  environment: EnvironmentFactory<Task> | EnvironmentPool<Task>,
  onCloseError?: ConstructorParameters<typeof EnvironmentPool>[1],
): { readonly pool: EnvironmentPool<Task>; readonly owned: boolean } {
  if (environment instanceof EnvironmentPool) return { pool: environment, owned: false };
  return { pool: new EnvironmentPool(environment, onCloseError), owned: true };
}

/** The default of `concurrency`. */
export const defaultConcurrency = 64;

/** The maximum concurrency, and the maximum number of episodes per task. */
export const maxConcurrency = 100_000;

/** Throws `config.invalid` unless `value` is an integer from 1 to `most`. Returns `value`. */
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
    hint: "Pass one policy for all agents, or one per agent by name.",
    data: { missing, agents: [...agents] },
  });
}

function isPolicy(policies: Policy | Readonly<Record<AgentId, Policy>>): policies is Policy {
  return typeof policies.act === "function";
}
