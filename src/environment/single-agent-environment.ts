import { textOf } from "../message/message.ts";
import { createRandom, deriveSeed } from "../random/random.ts";
import type { SingleAgentDefinition, StepOutcome } from "./define-environment.ts";
import type { Action, AgentId, Environment, EnvironmentSpec, Observations, StepResult } from "./environment.ts";
import { contractError } from "./environment-error.ts";
import { type Prompt, promptMessages } from "./prompt.ts";
import { type Reward, scored } from "./reward.ts";

/** The name of the agent of a single-agent environment. */
export const singleAgent = "agent";

/** One instance of what {@link defineEnvironment} was given: keeps the turn, the state and the seed of an episode. */
export class SingleAgentEnvironment<Task, State> implements Environment<Task> {
  readonly specificationVersion = "v1";
  readonly spec: EnvironmentSpec;
  readonly #definition: SingleAgentDefinition<Task, State>;
  #episode: { readonly task: Task; readonly seed: number; state: State; turn: number } | undefined;

  constructor(spec: EnvironmentSpec, definition: SingleAgentDefinition<Task, State>) {
    this.spec = spec;
    this.#definition = definition;
  }

  async reset(options: {
    readonly task: Task;
    readonly seed: number;
    readonly signal?: AbortSignal;
  }): Promise<Observations> {
    this.#episode = undefined;
    const { task, seed, signal } = options;
    const random = createRandom(deriveSeed(seed, "reset"));
    const outcome = await this.#definition.reset({ task, random, ...(signal === undefined ? {} : { signal }) });
    const { messages, state } =
      typeof outcome === "object" && "messages" in outcome ? outcome : { messages: outcome, state: undefined as State };
    this.#episode = { task, seed, state, turn: 0 };
    return this.#observe(messages);
  }

  async step(
    actions: Readonly<Record<AgentId, Action>>,
    options?: { readonly signal?: AbortSignal },
  ): Promise<StepResult> {
    const episode = this.#episode;
    if (episode === undefined) {
      throw this.#broken("was stepped while no episode runs", "Call reset before step, and again after an end.");
    }
    const action = actions[singleAgent];
    if (action === undefined) {
      throw this.#broken("was stepped without an action", `Pass { ${singleAgent}: action }.`);
    }
    const { task, state, turn } = episode;
    const outcome = await this.#definition.step({
      task,
      state,
      action,
      text: textOf(action.message),
      turn,
      random: createRandom(deriveSeed(episode.seed, "step", turn)),
      ...(options?.signal === undefined ? {} : { signal: options.signal }),
    });
    // A reset in the meantime began another episode, which this outcome is no part of.
    if (this.#episode !== episode) throw this.#broken("was reset during a step", "One call at a time.");
    if (outcome.state !== undefined) episode.state = outcome.state;
    episode.turn += 1;
    return this.#result(outcome, episode.turn);
  }

  async close(): Promise<void> {
    this.#episode = undefined;
  }

  #result(outcome: StepOutcome<State>, turn: number): StepResult {
    const { reply, info } = outcome;
    const terminated = outcome.done ?? reply === undefined;
    if (!terminated && reply === undefined) {
      throw this.#broken("went on (done: false) without a reply", "Return a reply, or leave done out.");
    }
    const truncated = !terminated && turn >= this.spec.maxTurns;
    const reward = this.#reward(outcome);
    const over = terminated || truncated;
    if (over) this.#episode = undefined;
    return {
      observations: over ? {} : this.#observe(reply!),
      agents: { [singleAgent]: { terminated, truncated, ...(reward === undefined ? {} : { reward }) } },
      ...(info === undefined ? {} : { info }),
    };
  }

  #reward({ reward, components }: StepOutcome<State>): Reward | undefined {
    if (typeof reward === "number") return scored(reward, components);
    if (components === undefined) return reward;
    if (reward !== undefined) {
      throw this.#broken("gave components beside a whole reward", "Put the components into the reward.");
    }
    let sum = 0;
    for (const value of Object.values(components)) sum += value;
    return scored(sum, components);
  }

  #observe(prompt: Prompt): Observations {
    return { [singleAgent]: { messages: promptMessages(prompt), context: "append" } };
  }

  #broken(problem: string, rule: string): Error {
    return contractError({ environment: this.spec.id, problem, rule });
  }
}
