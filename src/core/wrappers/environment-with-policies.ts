import type { Action, AgentId } from "../../contract/action.ts";
import type { AgentStep, Environment, EnvironmentSpec, Observations, StepResult } from "../../contract/environment.ts";
import type { Json } from "../../contract/json.ts";
import { addJudgeUsage, type JudgeUsage } from "../../contract/judge.ts";
import type { Policy } from "../../contract/policy.ts";
import { addRewards } from "../../contract/reward.ts";
import type { SamplingSettings } from "../../contract/sampler.ts";
import { contractError } from "../environment/environment-error.ts";
import { PolicyTable, type TableTask } from "./policy-table.ts";

type Signalled = { readonly signal?: AbortSignal };

/** A running episode. */
interface SeatedEpisode {
  readonly table: PolicyTable;
  /** The observations of policy-played agents that wait for the next step of an open agent. */
  pending: Observations;
  acting: readonly AgentId[];
  /** What steps gave before the first action of an open agent. */
  early: Given;
}

/** What steps give in addition to observations. */
interface Given {
  readonly agents: Record<AgentId, AgentStep>;
  readonly infos: readonly Json[];
  readonly correct: boolean | undefined;
  readonly judge: JudgeUsage | undefined;
}

const nothing: Given = { agents: {}, infos: [], correct: undefined, judge: undefined };

/** The result of steps until an open agent must act or the episode has ended. */
interface Played extends Given {
  readonly observations: Observations;
  readonly pending: Observations;
  readonly acting: readonly AgentId[];
}

/** An instance of an environment in which policies play some agents. */
export class EnvironmentWithPolicies<Task> implements Environment<Task> {
  readonly specificationVersion = "v1";
  readonly spec: EnvironmentSpec;
  readonly #inner: Environment<Task>;
  readonly #policies: Readonly<Record<AgentId, Policy>>;
  readonly #limits: { readonly sampling: SamplingSettings; readonly actMs: number };
  #episode: SeatedEpisode | undefined;

  constructor(options: {
    readonly inner: Environment<Task>;
    readonly spec: EnvironmentSpec;
    readonly policies: Readonly<Record<AgentId, Policy>>;
    readonly sampling: SamplingSettings;
    readonly actMs: number;
  }) {
    this.spec = options.spec;
    this.#inner = options.inner;
    this.#policies = options.policies;
    this.#limits = { sampling: options.sampling, actMs: options.actMs };
  }

  async reset(options: TableTask<Task> & Signalled): Promise<Observations> {
    this.#episode = undefined;
    const observations = await this.#inner.reset(options);
    const table = new PolicyTable({
      ...this.#limits,
      spec: this.#inner.spec,
      policies: this.#policies,
      place: options,
    });
    const played = await this.#play({ table, result: { observations, agents: {} }, signal: options.signal });
    if (Object.keys(played.observations).length === 0) {
      throw contractError({
        environment: this.spec.id,
        problem: "ended before an open agent acted",
        rule: "Leave an agent open that acts in every episode.",
      });
    }
    this.#episode = { table, ...played, early: played };
    return this.#open(played.observations);
  }

  async step(actions: Readonly<Record<AgentId, Action>>, options: Signalled = {}): Promise<StepResult> {
    const episode = this.#episode;
    if (episode === undefined) throw this.#broken("was stepped without a running episode", "Call reset before step.");
    const missing = episode.acting.find((agent) => actions[agent] === undefined);
    if (missing !== undefined) {
      throw this.#broken(`was stepped without an action of "${missing}"`, `Pass { ${episode.acting.join(", ")} }.`);
    }
    const { table } = episode;
    const played = await this.#answer(episode, actions, options).catch((error: unknown) => {
      if (this.#episode === episode) this.#episode = undefined;
      throw error;
    });
    if (this.#episode !== episode)
      throw this.#broken("was reset or closed during a step", "Wait for each call before the next one.");
    const over = Object.keys(played.observations).length === 0;
    this.#episode = over ? undefined : { table, ...played, early: nothing };
    const { infos, correct, judge } = played;
    return {
      observations: this.#open(played.observations),
      agents: played.agents,
      correct,
      ...(judge === undefined ? {} : { judge }),
      ...(infos.length === 0 ? {} : { info: infos.length === 1 ? infos[0]! : infos }),
    };
  }

  state(): Json {
    return this.#inner.state?.() ?? null;
  }

  async close(): Promise<void> {
    this.#episode = undefined;
    await this.#inner.close();
  }

  /** Steps with the actions of open agents, and of policy-played agents that act at the same time. */
  async #answer(
    { table, pending, acting, early }: SeatedEpisode,
    actions: Readonly<Record<AgentId, Action>>,
    options: Signalled,
  ): Promise<Played> {
    const seated = await table.act(pending, options.signal);
    const own = Object.fromEntries(acting.map((agent) => [agent, actions[agent]!]));
    const result = await this.#inner.step({ ...own, ...seated }, options);
    return this.#play({ table, result, before: early, signal: options.signal });
  }

  /** Continues while only policy-played agents must act. */
  async #play(options: {
    readonly table: PolicyTable;
    readonly result: StepResult;
    readonly before?: Given;
    readonly signal: AbortSignal | undefined;
  }): Promise<Played> {
    const { table, signal, before = nothing } = options;
    const agents = { ...before.agents };
    const infos = [...before.infos];
    let { correct, judge } = before;
    let { result } = options;
    for (;;) {
      const { observations } = result;
      for (const agent of this.spec.agents) {
        const step = result.agents[agent];
        if (step !== undefined) agents[agent] = addStep(agents[agent], step);
      }
      if (result.info !== undefined) infos.push(result.info);
      correct = result.correct ?? correct;
      if (result.judge !== undefined) judge = judge === undefined ? result.judge : addJudgeUsage(judge, result.judge);
      const acting = this.spec.agents.filter((agent) => Object.hasOwn(observations, agent));
      const present = Object.keys(observations);
      if (acting.length > 0 || present.length === 0) {
        const pending = Object.fromEntries(Object.entries(observations).filter(([agent]) => !acting.includes(agent)));
        return { observations, pending, acting, agents, infos, correct, judge };
      }
      result = await this.#inner.step(await table.act(observations, signal), { signal });
    }
  }

  #open(observations: Observations): Observations {
    return Object.fromEntries(Object.entries(observations).filter(([agent]) => this.spec.agents.includes(agent)));
  }

  #broken(problem: string, rule: string): Error {
    return contractError({ environment: this.spec.id, problem, rule });
  }
}

/** Combines two steps of one agent. */
function addStep(first: AgentStep | undefined, second: AgentStep): AgentStep {
  if (first === undefined) return second;
  const terminated = first.terminated || second.terminated;
  const truncated = first.truncated || second.truncated;
  if (first.reward === undefined) return { ...second, terminated, truncated };
  const reward = second.reward === undefined ? first.reward : addRewards(first.reward, second.reward);
  return { reward, terminated, truncated };
}
