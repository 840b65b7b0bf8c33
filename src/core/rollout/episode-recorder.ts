import type { AgentId } from "../../contract/action.ts";
import type {
  EnvironmentDefinition,
  EnvironmentFactory,
  EnvironmentSpec,
  Observations,
  StepResult,
} from "../../contract/environment.ts";
import type { AgentEpisode, Episode } from "../../contract/episode.ts";
import type { ErrorData, LyceumError } from "../../contract/errors/index.ts";
import { isJsonObject, type Json } from "../../contract/json.ts";
import { addJudgeUsage, type JudgeUsage } from "../../contract/judge.ts";
import type { Policy } from "../../contract/policy.ts";
import { type Reward, unscored } from "../../contract/reward.ts";
import type { TaskEntry } from "../../contract/taskset.ts";
import { contractError } from "../environment/environment-error.ts";
import { AgentRecorder } from "./agent-recorder.ts";
import { agentStepProblem } from "./contract-problem.ts";
import { episodeId } from "./episode-id.ts";
import { addErrorContext } from "./error-context.ts";
import type { FailureCause } from "./failure-cause.ts";
import type { Outcome } from "./outcome.ts";
import type { RolloutLimits } from "./rollout-limits.ts";

/** The part of an environment's factory that a trajectory uses. A definition also has `environmentOf`. */
type PlayedFactory = Pick<EnvironmentFactory, "spec" | "scoreGroup"> &
  Partial<Pick<EnvironmentDefinition, "environmentOf">>;

/** The record of one path of an episode so far, for all its agents. */
export class EpisodeRecorder {
  readonly #factory: PlayedFactory;
  readonly #spec: EnvironmentSpec;
  /** One per agent of the environment, in the order of its spec. */
  readonly recorders: readonly AgentRecorder[];
  #turns = 0;
  /** The current turn. Undefined before the first observation. */
  #turn: number | undefined;
  #correct: boolean | undefined;
  #judge: JudgeUsage | undefined;
  /** True if actions of agents caused the failure, and these agents have a reward for it. */
  #isBlamed = false;
  readonly #info: Json[] = [];

  private constructor(factory: PlayedFactory, recorders: readonly AgentRecorder[]) {
    this.#factory = factory;
    this.#spec = factory.spec;
    this.recorders = recorders;
  }

  static begin(factory: PlayedFactory, policies: ReadonlyMap<AgentId, Policy>): EpisodeRecorder {
    const { spec } = factory;
    const recorders = spec.agents.map(
      (agent) => new AgentRecorder({ agent, policy: policies.get(agent)!, environment: spec.id }),
    );
    return new EpisodeRecorder(factory, recorders);
  }

  /** Returns an independent copy of the path. `replaced` are the recorders of agents that differ from this path. */
  branch(replaced: ReadonlyMap<AgentId, AgentRecorder>): EpisodeRecorder {
    const recorders = this.recorders.map((recorder) => (replaced.get(recorder.agent) ?? recorder).copy());
    const branch = new EpisodeRecorder(this.#factory, recorders);
    branch.#turns = this.#turns;
    branch.#turn = this.#turn;
    branch.#correct = this.#correct;
    branch.#judge = this.#judge;
    branch.#info.push(...this.#info);
    return branch;
  }

  /** The number of steps so far. */
  get turns(): number {
    return this.#turns;
  }

  /**
   * Adds observations. Returns the agents that act next, or the outcome if the episode ends. Throws
   * `environment.contract` if the observations are invalid.
   */
  observe(observations: Observations, limits: RolloutLimits): readonly AgentRecorder[] | Outcome {
    const acting = this.#observed(observations);
    if (acting.length === 0) {
      this.#checkEarned();
      return { status: "completed" };
    }
    if (this.#turns >= turnLimit(this.#spec, limits)) return { status: "truncated", limit: "turns" };
    if (acting.some(({ sampledTokens }) => sampledTokens >= limits.tokens)) {
      return { status: "truncated", limit: "tokens" };
    }
    for (const recorder of acting) recorder.observe(observations[recorder.agent]!, this.#turns);
    this.#turn = this.#turns;
    return acting;
  }

  /** Adds the result of a step in which `acting` acted. Throws `environment.contract` if the result is invalid. */
  step(result: StepResult, acting: readonly AgentRecorder[]): void {
    this.#turns += 1;
    if (typeof result?.agents !== "object" || result.agents === null) {
      throw this.#broken("gave a step result without agents", "A step gives { observations, agents }.");
    }
    const { agents, info, correct, judge } = result;
    if (correct !== undefined && typeof correct !== "boolean") {
      throw this.#broken("said neither true nor false of whether it is correct", "correct is a boolean, or absent.");
    }
    this.#correct = correct ?? this.#correct;
    if (judge !== undefined) this.#judge = this.#judge === undefined ? judge : addJudgeUsage(this.#judge, judge);
    if (info !== undefined) this.#info.push(this.#copyOf(info));
    let known = 0;
    for (const recorder of this.recorders) {
      const step = agents[recorder.agent];
      if (step === undefined) continue;
      known += 1;
      const problem = agentStepProblem(recorder.agent, step);
      if (problem !== undefined) throw this.#broken(problem, "A step is { reward?, terminated, truncated }.");
      if (step.reward !== undefined) recorder.reward(step.reward);
      recorder.terminated ||= step.terminated;
      recorder.truncated ||= step.truncated;
    }
    if (known !== Object.keys(agents).length) throw this.#unknownAgent(Object.keys(agents));
    const forgotten = acting.find(({ agent }) => agents[agent] === undefined);
    if (forgotten !== undefined) {
      throw this.#broken(
        `did not say what its step meant for agent "${forgotten.agent}"`,
        "A step result has an entry in agents for every agent that acted.",
      );
    }
  }

  /** Ends the path for all agents although the environment would continue. All agents count as terminated. */
  endEarly(): Outcome {
    for (const recorder of this.recorders) recorder.terminated = true;
    return { status: "truncated", limit: "shape" };
  }

  /**
   * Ends the path after an action of these agents made the environment fail. Their total reward becomes the lowest of
   * the declared range. The other agents keep their rewards. Returns the added rewards. Returns undefined if the range
   * has no lower bound or all of these agents are unscored.
   */
  blame(
    failure: ErrorData,
    options: { readonly acting: readonly AgentRecorder[]; readonly task: string; readonly cause: FailureCause },
  ): Readonly<Record<AgentId, Reward>> | undefined {
    const { acting, task, cause } = options;
    const [lowest] = (this.#factory.environmentOf?.(task)?.spec ?? this.#spec).rewardRange;
    if (!Number.isFinite(lowest)) return undefined;
    const { data, ...placed } = addErrorContext(failure, { task, turn: this.#turn });
    const error = { ...placed, data: { ...(isJsonObject(data) ? data : {}), failureCause: cause } };
    const names = acting.map(({ agent }) => agent);
    const rewards = this.recorders
      .filter(({ agent }) => names.includes(agent))
      .flatMap((recorder) => {
        const reward = recorder.fail(lowest, error);
        return reward === undefined ? [] : [[recorder.agent, reward] as const];
      });
    // Unscored agents stay unscored.
    if (rewards.length === 0) return undefined;
    this.#isBlamed = true;
    return Object.fromEntries(rewards);
  }

  /**
   * Ends the path after these agents' own programs failed because of what their models answered. Scores the agents as
   * {@link blame}.
   */
  blamePrograms(
    failures: ReadonlyMap<AgentId, ErrorData>,
    { task }: { readonly task: string },
  ): Readonly<Record<AgentId, Reward>> | undefined {
    const rewards = [...failures].map(([agent, failure]) =>
      this.blame(failure, {
        acting: this.recorders.filter((recorder) => recorder.agent === agent),
        task,
        cause: isJsonObject(failure.data) && failure.data.failureCause === "policy?" ? "policy?" : "policy",
      }),
    );
    return this.#isBlamed ? Object.assign({}, ...rewards) : undefined;
  }

  /** Returns the finished episode. */
  episode(options: {
    readonly entry: TaskEntry;
    readonly sampleIndex: number;
    readonly seed: number;
    readonly outcome: Outcome;
    readonly durationMs: number;
  }): Episode {
    const { entry, sampleIndex, seed, durationMs } = options;
    const outcome = this.#placed(options.outcome, entry);
    const { status } = outcome;
    const agents: Record<AgentId, AgentEpisode> = {};
    for (const recorder of this.recorders) {
      if (status === "completed") recorder.terminated ||= !recorder.truncated;
      if (status === "truncated") recorder.truncated ||= !recorder.terminated;
      if (status === "failed" && !this.#isBlamed) {
        agents[recorder.agent] = recorder.finish(unscored(outcome.error.message, outcome.error));
      } else {
        agents[recorder.agent] = recorder.finish(
          status === "aborted" ? unscored("The rollout was aborted.") : undefined,
        );
      }
    }
    return {
      id: episodeId({ hash: entry.hash, sampleIndex, seed }),
      environment: this.#spec.id,
      task: { index: entry.index, id: entry.id, hash: entry.hash },
      seed,
      sampleIndex,
      status,
      ...(status === "failed" ? { error: outcome.error } : {}),
      ...(status === "truncated" ? { limit: outcome.limit } : {}),
      agents,
      turns: this.#turns,
      ...(this.#correct === undefined ? {} : { correct: this.#correct }),
      ...(this.#judge === undefined ? {} : { judge: this.#judge }),
      ...(this.#info.length === 0 ? {} : { info: this.#info }),
      durationMs,
    };
  }

  /** Adds the task and the turn to an environment's failure. */
  #placed(outcome: Outcome, { id: task }: TaskEntry): Outcome {
    if (outcome.status !== "failed") return outcome;
    return { ...outcome, error: addErrorContext(outcome.error, { task, turn: this.#turn }) };
  }

  /** Throws if an episode ends without any reward, because it would count as a reward of 0. */
  #checkEarned(): void {
    if (this.#turns === 0 || this.#factory.scoreGroup !== undefined) return;
    // A truncated episode may not have reached a reward yet.
    if (this.recorders.some(({ hasReward, truncated }) => hasReward || truncated)) return;
    throw this.#broken("ended the episode and gave no reward in it", "Give a reward with the last step, be it 0.");
  }

  /** Returns the recorders of the agents with an observation. */
  #observed(observations: Observations): readonly AgentRecorder[] {
    if (typeof observations !== "object" || observations === null) {
      throw this.#broken(`gave ${String(observations)} as observations`, "Observations are an object of agents.");
    }
    const acting = this.recorders.filter(({ agent }) => Object.hasOwn(observations, agent));
    const agents = Object.keys(observations);
    if (agents.length !== acting.length) throw this.#unknownAgent(agents);
    return acting;
  }

  /** Copies the info of a step, because the environment may change the object later. */
  #copyOf(info: Json): Json {
    try {
      return JSON.parse(JSON.stringify(info)) as Json;
    } catch {
      throw this.#broken(
        "gave info that is not JSON",
        "Traces store info as JSON: plain objects, lists, texts, numbers.",
      );
    }
  }

  #unknownAgent(agents: readonly AgentId[]): LyceumError {
    const unknown = agents.filter((agent) => !this.#spec.agents.includes(agent));
    return this.#broken(
      `named the unknown agent ${unknown.map((agent) => `"${agent}"`).join(", ")}`,
      `Its spec has the agents ${this.#spec.agents.join(", ")}.`,
    );
  }

  #broken(problem: string, rule: string): LyceumError {
    return contractError({ environment: this.#spec.id, problem, rule });
  }
}

/** Returns the maximum number of steps of an episode. */
export function turnLimit({ maxTurns }: EnvironmentSpec, { turns }: RolloutLimits): number {
  return Math.min(turns, maxTurns);
}
