import type { Action, AgentId } from "../../contract/action.ts";
import type {
  AgentStep,
  Environment,
  EnvironmentSpec,
  Observation,
  Observations,
  StepResult,
} from "../../contract/environment.ts";
import type { InstanceJudge } from "../../contract/judge.ts";
import { type ToolSpec, textOf } from "../../contract/message.ts";
import { promptMessages } from "../../contract/prompt.ts";
import { type Reward, scored } from "../../contract/reward.ts";
import { countedJudge } from "../judge/counted-judge.ts";
import { createRandom, deriveSeed, type Random } from "../random/random.ts";
import type { ParallelDefinition, ParallelStepOutcome, Prompts } from "./define-parallel-environment.ts";
import { contractError } from "./environment-error.ts";

interface RunningEpisode<Task, State> {
  readonly task: Task;
  readonly seed: number;
  state: State;
  turn: number;
  /** The agents that have a prompt to answer. */
  acting: readonly AgentId[];
}

/**
 * One instance of a definition. Keeps the turn, the state and the seed of its episode, and the value that `open`
 * returned.
 */
export class ParallelEnvironment<Agent extends string, Task, State, Opened extends AsyncDisposable | undefined>
  implements Environment<Task>
{
  readonly specificationVersion = "v1";
  readonly spec: EnvironmentSpec;
  /** Present if the definition has it. */
  readonly fork?: () => Promise<Environment<Task>>;
  readonly #definition: ParallelDefinition<Agent, Task, State, Opened>;
  readonly #opened: Opened | undefined;
  /** Present if the definition lists judges. */
  readonly #judge: InstanceJudge | undefined;
  /** The tools of each observation, if the spec cannot list them. */
  readonly #tools: readonly ToolSpec[] | undefined;
  #episode: RunningEpisode<Task, State> | undefined;
  #closed = false;

  constructor(options: {
    readonly spec: EnvironmentSpec;
    readonly definition: ParallelDefinition<Agent, Task, State, Opened>;
    readonly opened: Opened | undefined;
    readonly judge: InstanceJudge | undefined;
  }) {
    this.spec = options.spec;
    this.#definition = options.definition;
    this.#opened = options.opened;
    this.#judge = options.judge;
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
    if (this.#closed) throw this.#broken("was reset after it was closed", "Create a new instance.");
    const { task, seed, signal } = options;
    const outcome = await this.#definition.reset({
      task,
      random: resetRandom(seed),
      opened: this.#opened as Opened,
      signal,
    });
    const { prompts, state } = isStateful(outcome) ? outcome : { prompts: outcome, state: undefined as State };
    const observations = this.#observe(prompts, task);
    this.#episode = { task, seed, state, turn: 0, acting: Object.keys(observations) };
    return observations;
  }

  async step(
    actions: Readonly<Record<AgentId, Action>>,
    options?: { readonly signal?: AbortSignal },
  ): Promise<StepResult> {
    const episode = this.#episode;
    if (episode === undefined) {
      throw this.#broken(
        "was stepped without a running episode",
        "Call reset before step, and again after each episode.",
      );
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
    const judge = this.#judge === undefined ? undefined : countedJudge(this.#judge);
    const outcome = await this.#definition.step({
      task,
      state,
      actions: actions as Readonly<Partial<Record<Agent, Action>>>,
      texts: texts as Record<Agent, string>,
      turn,
      random: createRandom(deriveSeed(episode.seed, "step", turn)),
      opened: this.#opened as Opened,
      ...(judge === undefined ? {} : { judge }),
      ...(options?.signal === undefined ? {} : { signal: options.signal }),
    });
    // The instance was reset during the step, so this outcome belongs to an older episode.
    if (this.#episode !== episode)
      throw this.#broken("was reset or closed during a step", "Wait for each call before the next one.");
    if (outcome.state !== undefined) episode.state = outcome.state;
    episode.turn += 1;
    const result = this.#result(outcome, episode);
    const usage = judge?.usage();
    return usage === undefined ? result : { ...result, judge: usage };
  }

  async close(): Promise<void> {
    this.#episode = undefined;
    if (this.#closed) return;
    this.#closed = true;
    await this.#opened?.[Symbol.asyncDispose]();
  }

  async #fork(copy: NonNullable<ParallelDefinition<Agent, Task, State, Opened>["fork"]>): Promise<Environment<Task>> {
    if (this.#closed) throw this.#broken("was forked after it was closed", "Create a new instance.");
    const episode = this.#episode;
    const state = episode === undefined ? undefined : await copy(episode.state);
    const fork = new ParallelEnvironment<Agent, Task, State, Opened>({
      spec: this.spec,
      definition: this.#definition,
      opened: await this.#definition.open?.(),
      judge: this.#judge,
    });
    if (episode !== undefined) fork.#episode = { ...episode, state: state as State };
    return fork;
  }

  #result(outcome: ParallelStepOutcome<Agent, State>, episode: RunningEpisode<Task, State>): StepResult {
    const { info, correct } = outcome;
    const next = this.#observe(outcome.replies ?? ({} as Prompts<Agent>), episode.task, outcome.context);
    const answered = Object.keys(next);
    const terminated = outcome.done ?? answered.length === 0;
    if (!terminated && answered.length === 0) {
      throw this.#broken("returned done: false from step without a reply", "Return a reply, or omit done.");
    }
    const truncated = !terminated && episode.turn >= this.spec.maxTurns;
    const over = terminated || truncated;
    const rewards = this.#rewards(outcome);
    const agents: Record<AgentId, AgentStep> = {};
    for (const agent of this.spec.agents) {
      const reward = rewards(agent);
      if (!over && reward === undefined && !episode.acting.includes(agent)) continue;
      agents[agent] = { terminated, truncated, reward };
    }
    episode.acting = answered;
    if (over) this.#episode = undefined;
    return { observations: over ? {} : next, agents, correct, info };
  }

  /** Returns a function that gives the reward of each agent. */
  #rewards(outcome: ParallelStepOutcome<Agent, State>): (agent: AgentId) => Reward | undefined {
    const { reward, components, rewards } = outcome;
    if (rewards !== undefined) {
      if (reward !== undefined || components !== undefined) {
        throw this.#broken("returned both a joint reward and rewards of agents", "Return one of them.");
      }
      return (agent) => {
        const own = rewards[agent as Agent];
        return typeof own === "number" ? scored(own) : own;
      };
    }
    if (components !== undefined && reward !== undefined && typeof reward !== "number") {
      throw this.#broken("returned components next to a complete reward", "Put the components into the reward.");
    }
    const joint = jointReward(reward, components);
    return () => joint;
  }

  #observe(prompts: Prompts<Agent>, task: Task, context: Observation["context"] = "append"): Observations {
    const observations: Record<AgentId, Observation> = {};
    const templateVariables = this.#definition.templateVariables?.(task);
    const variables = templateVariables === undefined ? {} : { templateVariables };
    for (const [agent, prompt] of Object.entries(prompts) as [Agent, Prompts<Agent>[Agent]][]) {
      if (prompt === undefined) continue;
      const tools = this.#tools === undefined ? {} : { tools: this.#tools };
      observations[agent] = { messages: promptMessages(prompt), context, ...tools, ...variables };
    }
    return observations;
  }

  #broken(problem: string, rule: string): Error {
    return contractError({ environment: this.spec.id, problem, rule });
  }
}

/** Returns the random generator of `reset`. */
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
