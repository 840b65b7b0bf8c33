import type { Action, AgentId } from "../../contract/action.ts";
import type {
  AgentStep,
  Environment,
  EnvironmentSpec,
  Observation,
  Observations,
  StepResult,
} from "../../contract/environment.ts";
import { type ToolSpec, textOf } from "../../contract/message.ts";
import { promptMessages } from "../../contract/prompt.ts";
import { type Reward, scored } from "../../contract/reward.ts";
import { createRandom, deriveSeed, type Random } from "../random/random.ts";
import type { ParallelDefinition, ParallelStepOutcome, Prompts } from "./define-parallel-environment.ts";
import { contractError } from "./environment-error.ts";

interface RunningEpisode<Task, State> {
  readonly task: Task;
  readonly seed: number;
  state: State;
  turn: number;
  /** Who has a prompt that is to be answered. */
  acting: readonly AgentId[];
}

/** One instance of a definition: keeps the turn, the state and the seed of an episode, and what `open` gave it. */
export class ParallelEnvironment<Agent extends string, Task, State, Opened extends AsyncDisposable | undefined>
  implements Environment<Task>
{
  readonly specificationVersion = "v1";
  readonly spec: EnvironmentSpec;
  /** Only where the definition has one. */
  readonly fork?: () => Promise<Environment<Task>>;
  readonly #definition: ParallelDefinition<Agent, Task, State, Opened>;
  readonly #opened: Opened | undefined;
  /** What each observation says may be called, where the spec could not. */
  readonly #tools: readonly ToolSpec[] | undefined;
  #episode: RunningEpisode<Task, State> | undefined;
  #closed = false;

  constructor(options: {
    readonly spec: EnvironmentSpec;
    readonly definition: ParallelDefinition<Agent, Task, State, Opened>;
    readonly opened: Opened | undefined;
  }) {
    this.spec = options.spec;
    this.#definition = options.definition;
    this.#opened = options.opened;
    const { tools } = options.definition;
    this.#tools = typeof tools === "function" ? tools(options.opened as Opened) : undefined;
    const { fork } = options.definition;
    if (fork !== undefined) this.fork = () => this.#fork(fork);
  }

  async reset(options: {
    readonly task: Task;
    readonly seed: number;
    readonly signal?: AbortSignal;
  }): Promise<Observations> {
    this.#episode = undefined;
    if (this.#closed) throw this.#broken("was reset after it was closed", "Create another instance.");
    const { task, seed, signal } = options;
    const outcome = await this.#definition.reset({
      task,
      random: resetRandom(seed),
      opened: this.#opened as Opened,
      ...(signal === undefined ? {} : { signal }),
    });
    const { prompts, state } = isStateful(outcome) ? outcome : { prompts: outcome, state: undefined as State };
    const observations = this.#observe(prompts);
    this.#episode = { task, seed, state, turn: 0, acting: Object.keys(observations) };
    return observations;
  }

  async step(
    actions: Readonly<Record<AgentId, Action>>,
    options?: { readonly signal?: AbortSignal },
  ): Promise<StepResult> {
    const episode = this.#episode;
    if (episode === undefined) {
      throw this.#broken("was stepped while no episode runs", "Call reset before step, and again after an end.");
    }
    const { task, state, turn, acting } = episode;
    const texts: Record<AgentId, string> = Object.fromEntries(this.spec.agents.map((agent) => [agent, ""]));
    for (const agent of acting) {
      const action = actions[agent];
      if (action === undefined) {
        throw this.#broken(`was stepped without an action of "${agent}"`, `Pass { ${acting.join(", ")} }.`);
      }
      texts[agent] = textOf(action.message);
    }
    const outcome = await this.#definition.step({
      task,
      state,
      actions: actions as Readonly<Partial<Record<Agent, Action>>>,
      texts: texts as Record<Agent, string>,
      turn,
      random: createRandom(deriveSeed(episode.seed, "step", turn)),
      opened: this.#opened as Opened,
      ...(options?.signal === undefined ? {} : { signal: options.signal }),
    });
    // A reset in the meantime began another episode, which this outcome is no part of.
    if (this.#episode !== episode) throw this.#broken("was reset or closed during a step", "One call at a time.");
    if (outcome.state !== undefined) episode.state = outcome.state;
    episode.turn += 1;
    return this.#result(outcome, episode);
  }

  async close(): Promise<void> {
    this.#episode = undefined;
    if (this.#closed) return;
    this.#closed = true;
    await this.#opened?.[Symbol.asyncDispose]();
  }

  async #fork(copy: NonNullable<ParallelDefinition<Agent, Task, State, Opened>["fork"]>): Promise<Environment<Task>> {
    if (this.#closed) throw this.#broken("was forked after it was closed", "Create another instance.");
    const episode = this.#episode;
    const state = episode === undefined ? undefined : await copy(episode.state);
    const fork = new ParallelEnvironment<Agent, Task, State, Opened>({
      spec: this.spec,
      definition: this.#definition,
      opened: await this.#definition.open?.(),
    });
    if (episode !== undefined) fork.#episode = { ...episode, state: state as State };
    return fork;
  }

  #result(outcome: ParallelStepOutcome<Agent, State>, episode: RunningEpisode<Task, State>): StepResult {
    const { info, correct } = outcome;
    const next = this.#observe(outcome.replies ?? ({} as Prompts<Agent>), outcome.context);
    const answered = Object.keys(next);
    const terminated = outcome.done ?? answered.length === 0;
    if (!terminated && answered.length === 0) {
      throw this.#broken("went on (done: false) without a reply", "Return a reply, or leave done out.");
    }
    const truncated = !terminated && episode.turn >= this.spec.maxTurns;
    const over = terminated || truncated;
    const rewards = this.#rewards(outcome);
    const agents: Record<AgentId, AgentStep> = {};
    for (const agent of this.spec.agents) {
      const reward = rewards(agent);
      if (!over && reward === undefined && !episode.acting.includes(agent)) continue;
      agents[agent] = { terminated, truncated, ...(reward === undefined ? {} : { reward }) };
    }
    episode.acting = answered;
    if (over) this.#episode = undefined;
    return {
      observations: over ? {} : next,
      agents,
      ...(correct === undefined ? {} : { correct }),
      ...(info === undefined ? {} : { info }),
    };
  }

  /** What each agent earned. */
  #rewards(outcome: ParallelStepOutcome<Agent, State>): (agent: AgentId) => Reward | undefined {
    const { reward, components, rewards } = outcome;
    if (rewards !== undefined) {
      if (reward !== undefined || components !== undefined) {
        throw this.#broken("gave a joint reward beside rewards of agents", "Give one or the other.");
      }
      return (agent) => {
        const own = rewards[agent as Agent];
        return typeof own === "number" ? scored(own) : own;
      };
    }
    if (components !== undefined && reward !== undefined && typeof reward !== "number") {
      throw this.#broken("gave components beside a whole reward", "Put the components into the reward.");
    }
    const joint = jointReward(reward, components);
    return () => joint;
  }

  #observe(prompts: Prompts<Agent>, context: Observation["context"] = "append"): Observations {
    const observations: Record<AgentId, Observation> = {};
    for (const [agent, prompt] of Object.entries(prompts) as [Agent, Prompts<Agent>[Agent]][]) {
      if (prompt === undefined) continue;
      const tools = this.#tools === undefined ? {} : { tools: this.#tools };
      observations[agent] = { messages: promptMessages(prompt), context, ...tools };
    }
    return observations;
  }

  #broken(problem: string, rule: string): Error {
    return contractError({ environment: this.spec.id, problem, rule });
  }
}

/** What `reset` is given to draw from. */
export function resetRandom(seed: number): Random {
  return createRandom(deriveSeed(seed, "reset"));
}

function jointReward(
  reward: number | Reward | undefined,
  components: Readonly<Record<string, number>> | undefined,
): Reward | undefined {
  if (typeof reward === "number") return scored(reward, components);
  if (components === undefined) return reward;
  let sum = 0;
  for (const value of Object.values(components)) sum += value;
  return scored(sum, components);
}

function isStateful<Agent extends string, State>(
  outcome: Prompts<Agent> | { readonly prompts: Prompts<Agent>; readonly state: State },
): outcome is { readonly prompts: Prompts<Agent>; readonly state: State } {
  return "prompts" in outcome && "state" in outcome;
}
