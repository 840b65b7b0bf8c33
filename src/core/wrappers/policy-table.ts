import type { Action, AgentId } from "../../contract/action.ts";
import type { EnvironmentSpec, Observations } from "../../contract/environment.ts";
import { fromErrorData } from "../../contract/errors/index.ts";
import type { ActResult, Policy } from "../../contract/policy.ts";
import type { SamplingSettings } from "../../contract/sampler.ts";
import type { TaskEntry } from "../../contract/taskset.ts";
import { contractError } from "../environment/environment-error.ts";
import { deriveSeed } from "../random/random.ts";
import { AgentRecorder, actionError } from "../rollout/agent-recorder.ts";
import { boundedWait } from "../rollout/bounded-wait.ts";
import { actTimeout, policyFailure } from "../rollout/rollout-error.ts";
import { taskEntry } from "../taskset/task-entry.ts";
import { withoutInlineReasoning } from "../tokens/split-reasoning.ts";

/** The task of an episode and its seed. */
export interface TableTask<Task> {
  readonly task: Task;
  readonly seed: number;
}

/** The policies that play agents in one episode, each with the conversation of its agent. */
export class PolicyTable {
  readonly #spec: EnvironmentSpec;
  readonly #recorders: ReadonlyMap<AgentId, AgentRecorder>;
  readonly #sampling: SamplingSettings;
  readonly #actMs: number;
  readonly #seed: number;
  readonly #entry: TaskEntry;
  #turn = 0;

  constructor(options: {
    readonly spec: EnvironmentSpec;
    readonly policies: Readonly<Record<AgentId, Policy>>;
    readonly sampling: SamplingSettings;
    readonly actMs: number;
    readonly place: TableTask<unknown>;
  }) {
    const { spec, policies, place } = options;
    this.#spec = spec;
    this.#sampling = options.sampling;
    this.#actMs = options.actMs;
    this.#seed = place.seed;
    this.#entry = taskEntry(place.task, 0);
    const recorders = Object.entries(policies).map(([agent, policy]) => {
      return [agent, new AgentRecorder({ agent, policy, environment: spec.id })] as const;
    });
    this.#recorders = new Map(recorders);
  }

  /**
   * Returns the actions of the policies whose agents are observed. All are asked at the same time. Call it once per
   * step of the inner environment.
   */
  async act(observations: Observations, signal: AbortSignal | undefined): Promise<Record<AgentId, Action>> {
    signal?.throwIfAborted();
    const turn = this.#turn++;
    const asked = Object.entries(observations).map(([agent, observation]) => {
      const recorder = this.#recorders.get(agent);
      if (recorder === undefined) throw this.#unknown(agent);
      recorder.observe(observation, turn);
      return recorder;
    });
    if (asked.length === 0) return {};
    const stop = new AbortController();
    try {
      const signals = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]);
      const results = await boundedWait(Promise.all(asked.map((recorder) => this.#ask(recorder, turn, signals))), {
        ms: this.#actMs,
        timeout: () => actTimeout(asked, this.#actMs),
        signal,
      });
      return this.#record(asked, results, turn);
    } catch (error) {
      // Stops the other policies, because their actions are no longer needed.
      stop.abort();
      throw error;
    }
  }

  async #ask(recorder: AgentRecorder, turn: number, signal: AbortSignal): Promise<ActResult> {
    const { agent, policy, previous, templateVariables } = recorder;
    const tools = recorder.tools ?? this.#spec.tools;
    try {
      const result = await policy.act({
        agent,
        messages: recorder.conversation(),
        sampling: this.#sampling,
        seed: deriveSeed(this.#seed, "seat", agent, turn),
        episode: { task: this.#entry, seed: this.#seed, sampleIndex: 0, turn },
        signal,
        tools,
        templateVariables,
        previous,
      });
      return withoutInlineReasoning(result);
    } catch (error) {
      throw policyFailure(policy, `agent "${agent}"`, error);
    }
  }

  #record(asked: readonly AgentRecorder[], results: readonly ActResult[], turn: number): Record<AgentId, Action> {
    const actions: Record<AgentId, Action> = {};
    for (const [index, recorder] of asked.entries()) {
      const result = results[index]!;
      recorder.act(result, { turn, sampling: this.#sampling });
      const error = result.failure === undefined ? actionError(result, recorder) : fromErrorData(result.failure);
      if (error !== undefined) throw error;
      actions[recorder.agent] = result.action;
    }
    return actions;
  }

  #unknown(agent: AgentId): Error {
    const rule = `Its spec has the agents ${this.#spec.agents.join(", ")}.`;
    return contractError({ environment: this.#spec.id, problem: `named the unknown agent "${agent}"`, rule });
  }
}
