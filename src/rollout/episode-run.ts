import type { Action, AgentId, Environment, Observations, StepResult } from "../environment/environment.ts";
import { contractError, environmentFailure } from "../environment/environment-error.ts";
import { unscored } from "../environment/reward.ts";
import { type ErrorData, LyceumError, toErrorData } from "../errors/index.ts";
import type { Json } from "../json.ts";
import type { ActRequest, ActResult, Policy } from "../policy/policy.ts";
import type { SamplingSettings } from "../policy/sampler.ts";
import { deriveSeed } from "../random/random.ts";
import type { TaskEntry } from "../taskset/taskset.ts";
import { AgentRecorder, actionError } from "./agent-recorder.ts";
import { agentStepProblem } from "./contract-problem.ts";
import type { EnvironmentPool } from "./environment-pool.ts";
import type { AgentEpisode, Episode } from "./episode.ts";
import type { FlushBarrier } from "./flush-barrier.ts";
import { actTimeout, callTimeout, policyFailure } from "./rollout-error.ts";
import { type RolloutLimits, startTimer } from "./rollout-limits.ts";
import type { TimeSlice } from "./time-slice.ts";
import { TurnRequests } from "./turn-requests.ts";

/** What the episodes of one rollout share. */
export interface RunSettings<Task> {
  readonly pool: EnvironmentPool<Task>;
  /** One policy for each agent of the environment. */
  readonly policies: ReadonlyMap<AgentId, Policy>;
  readonly limits: RolloutLimits;
  readonly sampling: SamplingSettings;
  readonly slice: TimeSlice;
  /** Present when a policy batches. Whoever plays an episode has entered it. */
  readonly barrier: FlushBarrier | undefined;
}

/** What to play. */
export interface RunPlace<Task> {
  readonly entry: TaskEntry<Task>;
  readonly group: number;
  readonly member: number;
  readonly seed: number;
}

/** How an episode ended, before it is put together. */
type Outcome =
  | { readonly status: "completed" | "aborted" }
  | { readonly status: "truncated"; readonly limit: "turns" | "tokens" | "time" }
  | { readonly status: "failed"; readonly error: ErrorData };

/**
 * One run of one task: reset, then act and step in turn until the environment or a limit ends it. It waits for one
 * thing at a time; an interruption (a limit, an abort) ends that wait whether or not what it waits for heeds its
 * signal, and an environment instance that is left in the middle of a call is never used again.
 */
export class EpisodeRun<Task> {
  readonly #settings: RunSettings<Task>;
  readonly #place: RunPlace<Task>;
  readonly #recorders: readonly AgentRecorder[];
  readonly #controller = new AbortController();
  readonly #info: Json[] = [];
  #turns = 0;
  #environment: Environment<Task> | undefined;
  #inCall = false;
  #interruption: Outcome | undefined;
  #rejectWait: ((reason: Outcome) => void) | undefined;
  /** Times what is waited for now. */
  #clock: NodeJS.Timeout | undefined;

  constructor(settings: RunSettings<Task>, place: RunPlace<Task>) {
    this.#settings = settings;
    this.#place = place;
    const { id, agents } = settings.pool.factory.spec;
    this.#recorders = agents.map(
      (agent) => new AgentRecorder({ agent, policy: settings.policies.get(agent)!, environment: id }),
    );
  }

  /** Plays the episode. Never rejects: what goes wrong is in the episode. */
  async play(): Promise<Episode> {
    const started = performance.now();
    const timer = startTimer(this.#settings.limits.episodeMs, () =>
      this.#interrupt({ status: "truncated", limit: "time" }),
    );
    let outcome: Outcome;
    try {
      outcome = await this.#run();
    } catch (error) {
      outcome = this.#interruption ?? { status: "failed", error: toErrorData(error) };
    }
    clearTimeout(timer);
    this.#stopClock();
    this.#handBack(outcome);
    return this.#episode(outcome, performance.now() - started);
  }

  /** Ends the episode now. */
  abort(): void {
    this.#interrupt({ status: "aborted" });
  }

  async #run(): Promise<Outcome> {
    const { limits, pool, slice } = this.#settings;
    const { entry, seed } = this.#place;
    const { signal } = this.#controller;
    const turnLimit = Math.min(limits.turns, pool.factory.spec.maxTurns);
    const environment = await this.#acquire();
    const resetSeed = deriveSeed(seed, entry.hash, "environment");
    let observations = await this.#call("reset", () =>
      environment.reset({ task: entry.task, seed: resetSeed, signal }),
    );
    for (;;) {
      const pause = slice.pause();
      if (pause !== undefined) await pause;
      const acting = this.#acting(observations);
      if (acting.length === 0) return { status: "completed" };
      if (this.#turns >= turnLimit) return { status: "truncated", limit: "turns" };
      if (acting.some(({ sampledTokens }) => sampledTokens >= limits.tokens)) {
        return { status: "truncated", limit: "tokens" };
      }
      for (const recorder of acting) recorder.observe(observations[recorder.agent]!, this.#turns);
      const actions = await this.#act(acting);
      if (actions === "context-full") return { status: "truncated", limit: "tokens" };
      const result = await this.#call("step", () => environment.step(actions, { signal }));
      this.#turns += 1;
      this.#apply(result, acting);
      observations = result.observations;
    }
  }

  async #acquire(): Promise<Environment<Task>> {
    const { pool } = this.#settings;
    let acquiring: Promise<Environment<Task>> | undefined;
    try {
      this.#environment = await this.#call("create", () => {
        acquiring = pool.acquire();
        return acquiring;
      });
      return this.#environment;
    } catch (error) {
      acquiring?.then(
        (environment) => pool.release(environment),
        () => {},
      );
      throw error;
    }
  }

  /** Calls the environment and waits for it, within the time limit. */
  async #call<T>(call: "create" | "reset" | "step", start: () => Promise<T>): Promise<T> {
    const environment = this.#settings.pool.factory.spec.id;
    const { environmentMs } = this.#settings.limits;
    this.#startClock(environmentMs, () => callTimeout(environment, call, environmentMs));
    this.#inCall = true;
    try {
      const result = await this.#wait(Promise.resolve(start()));
      this.#inCall = false;
      return result;
    } catch (error) {
      throw this.#interruption ?? environmentFailure({ environment, call, error });
    } finally {
      this.#stopClock();
    }
  }

  /** The recorders of the agents that are observed, in the order of the spec. */
  #acting(observations: Observations): readonly AgentRecorder[] {
    if (typeof observations !== "object" || observations === null) {
      throw this.#broken(`gave ${String(observations)} as observations`, "Observations are an object of agents.");
    }
    const acting = this.#recorders.filter(({ agent }) => Object.hasOwn(observations, agent));
    const agents = Object.keys(observations);
    if (agents.length !== acting.length) throw this.#unknownAgent(agents);
    return acting;
  }

  /** Asks all of these at once. */
  async #act(acting: readonly AgentRecorder[]): Promise<Record<AgentId, Action> | "context-full"> {
    const { barrier, limits } = this.#settings;
    const startClock = (): void => this.#startClock(limits.actMs, () => actTimeout(acting, limits.actMs));
    const requests =
      barrier === undefined
        ? undefined
        : new TurnRequests({
            barrier,
            onHeld: () => this.#stopClock(),
            onFlush: startClock,
            onError: (error, policy) =>
              this.#interrupt({ status: "failed", error: policyFailure(policy, "flush", error).toData() }),
          });
    try {
      const answers = acting.map((recorder) => this.#ask(recorder, requests));
      startClock();
      requests?.start();
      const results = answers.length === 1 ? [await this.#wait(answers[0]!)] : await this.#wait(Promise.all(answers));
      return this.#record(acting, results);
    } catch (error) {
      // The other agents' actions have nobody to wait for them any more.
      this.#controller.abort();
      const grown = acting.some(({ hasActed }) => hasActed);
      if (grown && LyceumError.isInstance(error) && error.code === "policy.prompt-too-long") return "context-full";
      throw error;
    } finally {
      this.#stopClock();
      requests?.end();
    }
  }

  /** One request to one policy. The clock of a batching policy starts when its batch does. */
  #ask(recorder: AgentRecorder, requests: TurnRequests | undefined): Promise<ActResult> {
    const { agent, policy } = recorder;
    const settled = requests?.add(policy);
    let answer: Promise<ActResult>;
    try {
      answer = Promise.resolve(policy.act(this.#request(recorder)));
    } catch (error) {
      answer = Promise.reject(error);
    }
    return answer.then(
      (result) => {
        settled?.();
        return result;
      },
      (error) => {
        settled?.();
        throw policyFailure(policy, `agent "${agent}"`, error);
      },
    );
  }

  #request(recorder: AgentRecorder): ActRequest {
    const { limits, sampling, pool } = this.#settings;
    const { entry, group, member, seed } = this.#place;
    const { agent, policy, messages, previous } = recorder;
    const turn = this.#turns;
    const room = limits.tokens - recorder.sampledTokens;
    const tools = recorder.tools ?? pool.factory.spec.tools;
    return {
      agent,
      messages,
      sampling: room < sampling.maxTokens ? { ...sampling, maxTokens: room } : sampling,
      seed: deriveSeed(seed, entry.hash, member, agent, turn),
      episode: { task: entry, member, turn },
      signal: this.#controller.signal,
      ...(tools === undefined ? undefined : { tools }),
      ...(previous === undefined ? undefined : { previous }),
      ...(policy.flush === undefined ? undefined : { order: [group, member, this.#recorders.indexOf(recorder)] }),
    };
  }

  #record(acting: readonly AgentRecorder[], results: readonly ActResult[]): Record<AgentId, Action> {
    const actions: Record<AgentId, Action> = {};
    const { temperature } = this.#settings.sampling;
    for (const [index, recorder] of acting.entries()) {
      recorder.act(results[index]!, { turn: this.#turns, temperature });
      actions[recorder.agent] = results[index]!.action;
    }
    for (const recorder of acting) {
      const error = actionError(actions[recorder.agent]!, recorder);
      if (error !== undefined) throw error;
    }
    return actions;
  }

  #apply(result: StepResult, acting: readonly AgentRecorder[]): void {
    if (typeof result?.agents !== "object" || result.agents === null) {
      throw this.#broken("gave a step result without agents", "A step gives { observations, agents }.");
    }
    const { agents, info } = result;
    if (info !== undefined) this.#info.push(this.#copyOf(info));
    let known = 0;
    for (const recorder of this.#recorders) {
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

  /** What is said of a step now, whatever the environment makes of the object later. */
  #copyOf(info: Json): Json {
    try {
      return JSON.parse(JSON.stringify(info)) as Json;
    } catch {
      throw this.#broken("gave info that is not JSON", "info stands in traces: plain objects, lists, texts, numbers.");
    }
  }

  /** Waits for a promise, or for an interruption. */
  #wait<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#interruption === undefined) this.#rejectWait = reject;
      else reject(this.#interruption);
      promise.then(resolve, reject);
    });
  }

  #interrupt(outcome: Outcome): void {
    if (this.#interruption !== undefined) return;
    this.#interruption = outcome;
    this.#controller.abort();
    this.#rejectWait?.(outcome);
  }

  #startClock(ms: number, error: () => LyceumError): void {
    clearTimeout(this.#clock);
    this.#clock = startTimer(ms, () => this.#interrupt({ status: "failed", error: error().toData() }));
  }

  #stopClock(): void {
    clearTimeout(this.#clock);
    this.#clock = undefined;
  }

  /** Returns the environment to the pool, unless it is in the middle of a call or at fault. */
  #handBack(outcome: Outcome): void {
    const { pool } = this.#settings;
    if (this.#environment === undefined) return;
    const atFault = outcome.status === "failed" && outcome.error.code.startsWith("environment.");
    if (this.#inCall || atFault) pool.discard(this.#environment);
    else pool.release(this.#environment);
  }

  #episode(outcome: Outcome, durationMs: number): Episode {
    const { entry, member, seed } = this.#place;
    const { status } = outcome;
    const agents: Record<AgentId, AgentEpisode> = {};
    for (const recorder of this.#recorders) {
      if (status === "completed") recorder.terminated ||= !recorder.truncated;
      if (status === "truncated") recorder.truncated ||= !recorder.terminated;
      if (status === "failed") {
        agents[recorder.agent] = recorder.finish(unscored(outcome.error.message, outcome.error));
      } else {
        agents[recorder.agent] = recorder.finish(
          status === "aborted" ? unscored("The rollout was aborted.") : undefined,
        );
      }
    }
    return {
      id: `${entry.hash.slice(0, 16)}-${member}-${seed}`,
      environment: this.#settings.pool.factory.spec.id,
      task: { index: entry.index, id: entry.id, hash: entry.hash },
      seed,
      member,
      status,
      ...(status === "failed" ? { error: outcome.error } : {}),
      ...(status === "truncated" ? { limit: outcome.limit } : {}),
      agents,
      turns: this.#turns,
      ...(this.#info.length === 0 ? {} : { info: this.#info }),
      durationMs,
    };
  }

  #unknownAgent(agents: readonly AgentId[]): LyceumError {
    const known = this.#recorders.map(({ agent }) => agent);
    const unknown = agents.filter((agent) => !known.includes(agent));
    return this.#broken(
      `named the unknown agent ${unknown.map((agent) => `"${agent}"`).join(", ")}`,
      `Its spec has the agents ${known.join(", ")}.`,
    );
  }

  #broken(problem: string, rule: string): LyceumError {
    return contractError({ environment: this.#settings.pool.factory.spec.id, problem, rule });
  }
}
