import { randomUUID } from "node:crypto";
import type { Action, AgentId } from "../../src/contract/action.ts";
import type { Environment, EnvironmentSpec, Observations, StepResult } from "../../src/contract/environment.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { isJsonObject } from "../../src/contract/json.ts";
import { contractError } from "../../src/core/environment/environment-error.ts";
import { contentHash } from "../../src/core/taskset/content-hash.ts";
import type { EnvironmentSession, SessionReset } from "../session/session.ts";
import { Reconnection } from "./reconnection.ts";
import { isLostConnection, isRecoverable } from "./remote-error.ts";
import type { RemoteSettings } from "./remote-options.ts";
import type { RemoteServer } from "./remote-server.ts";
import type { SessionPool } from "./session-pool.ts";

/** The task of a remote environment: its place on the server and the hash of its content there. */
export interface RemoteTask {
  readonly split: string;
  readonly index: number;
  readonly hash: string;
}

/** What the instances of a remote environment share. */
export interface RemoteInstanceOptions {
  readonly spec: EnvironmentSpec;
  readonly server: RemoteServer;
  readonly pool: SessionPool;
  readonly settings: RemoteSettings;
  /** The address for messages. */
  readonly shown: string;
  /** Returns the reset of a task in an episode with this seed. */
  readonly resetOf: (task: RemoteTask, seed: number) => SessionReset;
}

type Actions = Readonly<Record<AgentId, Action>>;

interface PlayedStep {
  readonly stepId: string;
  readonly actions: Actions;
  /** The hash of the result, to compare it with that of a replay. Absent until the server has answered. */
  hash?: string;
}

/**
 * An environment instance whose episodes run on a server. If the connection breaks, it asks for the result of a step
 * again, or restarts a deterministic episode from its seed and replays its actions.
 */
export class RemoteInstance implements Environment<RemoteTask> {
  readonly specificationVersion = "v1";
  readonly spec: EnvironmentSpec;
  readonly #options: RemoteInstanceOptions;
  #session: EnvironmentSession | undefined;
  #start: SessionReset | undefined;
  #first: string | undefined;
  #steps: PlayedStep[] = [];
  /** The agents that must act. Empty before a reset and after the end. */
  #acting: readonly AgentId[] = [];
  #closed: Promise<void> | undefined;

  constructor(options: RemoteInstanceOptions) {
    this.spec = options.spec;
    this.#options = options;
    options.pool.join();
  }

  async reset(options: {
    readonly task: RemoteTask;
    readonly seed: number;
    readonly signal?: AbortSignal;
  }): Promise<Observations> {
    const { task, seed, signal } = options;
    if (this.#closed !== undefined) throw this.#broken("was reset after it was closed", "Create another instance.");
    this.#start = this.#options.resetOf(task, seed);
    this.#steps = [];
    this.#acting = [];
    this.#first = undefined;
    const attempts = this.#reconnection();
    for (;;) {
      try {
        const observations = await this.#restart(signal);
        attempts.reached();
        this.#acting = Object.keys(observations);
        if (this.#acting.length === 0) this.#release();
        return observations;
      } catch (error) {
        await this.#afterFailure(error, { attempts, signal });
      }
    }
  }

  async step(actions: Actions, { signal }: { readonly signal?: AbortSignal } = {}): Promise<StepResult> {
    this.#checkActions(Object.keys(actions));
    const played: PlayedStep = { stepId: randomUUID(), actions };
    const attempts = this.#reconnection();
    let restarts = 0;
    let reason = "";
    for (;;) {
      try {
        if (this.#session === undefined) {
          if (!this.spec.deterministic) throw this.#lostEpisode(reason);
          await this.#replay(signal);
          restarts += 1;
        }
        const { done, ...result } = await this.#session!.step({ ...played, signal });
        attempts.reached();
        this.#steps.push({ ...played, hash: hashOf(result) });
        const limited = this.#limited(result);
        this.#acting = Object.keys(limited.observations);
        if (done || limited !== result) this.#release();
        return restarts === 0 ? limited : withRestarts(limited, { restarts, reason });
      } catch (error) {
        reason = LyceumError.isInstance(error) ? error.message : String(error);
        await this.#afterFailure(error, { attempts, signal });
      }
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #end(): Promise<void> {
    this.#acting = [];
    await this.#drop();
    await this.#options.pool.leave();
  }

  #checkActions(acting: readonly AgentId[]): void {
    const expected = this.#acting;
    if (expected.length === 0) throw this.#broken("was stepped before a reset or after the end", "Reset it first.");
    if (acting.length === expected.length && acting.every((agent) => expected.includes(agent))) return;
    throw this.#broken(
      `got actions of ${acting.join(", ") || "no agent"}, but ${expected.join(", ")} must act`,
      "Send one action for each agent that has an observation.",
    );
  }

  #broken(problem: string, rule: string): LyceumError {
    return contractError({ environment: this.spec.id, problem, rule });
  }

  #reconnection(): Reconnection {
    const { shown, settings } = this.#options;
    return new Reconnection(shown, settings);
  }

  /** Starts the episode from its seed, in the instance's session or another one. */
  async #restart(signal: AbortSignal | undefined): Promise<Observations> {
    this.#session ??= await this.#options.pool.acquire(signal);
    const { observations } = await this.#session.reset({ ...this.#start, signal });
    const hash = contentHash(observations as never);
    if (this.#first !== undefined && this.#first !== hash) throw this.#changedAnswer("the reset");
    this.#first = hash;
    return observations;
  }

  /** Restarts the episode in a new session and plays its steps again. */
  async #replay(signal: AbortSignal | undefined): Promise<void> {
    await this.#restart(signal);
    for (const [turn, { actions, stepId, hash }] of this.#steps.entries()) {
      const { done: _, ...result } = await this.#session!.step({ actions, stepId, signal });
      if (hashOf(result) !== hash) throw this.#changedAnswer(`step ${turn}`);
    }
  }

  /** Waits before the next attempt. Throws the error if another attempt cannot help. */
  async #afterFailure(
    error: unknown,
    { attempts, signal }: { readonly attempts: Reconnection; readonly signal: AbortSignal | undefined },
  ): Promise<void> {
    if (signal?.aborted === true) {
      this.#acting = [];
      // Not awaited: an abort does not wait for the server.
      void this.#drop();
      throw signal.reason;
    }
    // A server that aborted a step when the connection broke refuses its repetition.
    const isRefusedRepeat =
      attempts.hasFailed && LyceumError.isInstance(error) && error.code === "server.invalid-request";
    if (!isRefusedRepeat && !isRecoverable(error)) {
      this.#acting = [];
      await this.#drop();
      throw error;
    }
    const isKept = this.#options.server.keepsSessions && isLostConnection(error);
    if (!isKept) await this.#drop();
    await attempts.wait(error, signal);
  }

  async #drop(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.close();
  }

  #release(): void {
    if (this.#session !== undefined) this.#options.pool.release(this.#session);
    this.#session = undefined;
  }

  /** Cuts off an episode at its maximum number of steps. A server that does not know it goes on. */
  #limited(result: StepResult): StepResult {
    const acting = Object.keys(result.observations);
    if (acting.length === 0 || this.#steps.length < this.spec.maxTurns) return result;
    const agents = Object.entries(result.agents).map(([agent, step]) => [agent, { ...step, truncated: true }]);
    return { ...result, observations: {}, agents: Object.fromEntries(agents) };
  }

  #lostEpisode(reason: string): LyceumError {
    return new LyceumError({
      code: "environment.unavailable",
      message: `The environment server ${this.#options.shown} lost an episode, which cannot be repeated: ${reason}`,
      hint: "The episode is unscored. If equal seeds and actions give equal results on this server, set deterministic: true.",
      data: { reason: "lost-episode", address: this.#options.shown },
    });
  }

  #changedAnswer(what: string): LyceumError {
    return new LyceumError({
      code: "environment.unavailable",
      message: `The environment server ${this.#options.shown} answers ${what} otherwise than before it was restarted.`,
      hint: "The environment changed, or it is not deterministic. The episode is unscored.",
      data: { reason: "changed-answer", address: this.#options.shown },
    });
  }
}

function hashOf(result: StepResult): string {
  return contentHash(JSON.parse(JSON.stringify(result)));
}

/** Adds to the info of a step that the episode was restarted. The trace records it. */
function withRestarts(
  result: StepResult,
  restarted: { readonly restarts: number; readonly reason: string },
): StepResult {
  const { info } = result;
  return { ...result, info: { ...(isJsonObject(info) ? info : info === undefined ? {} : { info }), restarted } };
}
