import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { CommandResult, Workspace, Workspaces } from "../../sandbox/index.ts";
import type { SharedResource } from "../../src/core/environment/shared-resource.ts";
import type { HarborTask } from "./harbor-task.ts";
import { untilHealthy } from "./healthcheck.ts";
import { listSkills } from "./skills.ts";
import { artifactsFolder, type Verification, verify } from "./verify.ts";

/** The settings of an episode that do not come from the task. */
export interface HarborSettings {
  /** The folder to which the paths of tasks are relative. */
  readonly root: string;
  readonly commandSeconds: number;
  readonly rewardRange: readonly [minimum: number, maximum: number];
  /** False turns the network off for all tasks, also for those that ask for it. */
  readonly network: boolean;
  /** The folder for what tasks leave in `/logs/artifacts`. */
  readonly artifacts: string | undefined;
}

interface Running {
  readonly task: HarborTask;
  readonly image: string;
  readonly agent: Workspace;
  readonly endsAt: number;
}

/** The containers of one environment instance, which plays one episode at a time. */
export class HarborEpisode implements AsyncDisposable {
  readonly #workspaces: SharedResource<Workspaces>;
  readonly #settings: HarborSettings;
  readonly #closing = new AbortController();
  #starting: Promise<unknown> | undefined;
  #running: Running | undefined;

  constructor(workspaces: SharedResource<Workspaces>, settings: HarborSettings) {
    this.#workspaces = workspaces;
    this.#settings = settings;
  }

  /**
   * Builds the task's image, unless it is there, and starts the agent's container. Waits until its health check passes.
   * Returns a text that lists its skills, or undefined if it has none.
   */
  async begin(task: HarborTask, signal: AbortSignal | undefined): Promise<string | undefined> {
    await this.end();
    const stopped = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
    const starting = this.#start(task, stopped);
    this.#starting = starting.catch(() => undefined);
    return starting;
  }

  async #start(task: HarborTask, signal: AbortSignal): Promise<string | undefined> {
    const { config, content } = task;
    const image =
      config.image ??
      (await this.#workspaces.value.image({
        key: content,
        context: join(this.#settings.root, task.path, "environment"),
        limitMs: 1000 * config.buildSeconds,
        // As in Harbor, a task's network policy is that of its agent and its verifier, not of the build.
        network: this.#settings.network,
        signal,
      }));
    signal.throwIfAborted();
    const { cpus, memoryMb, environment } = config;
    const network = this.#settings.network && config.agent.network;
    const limits = { cpus, memoryMb, processes: 256 };
    const agent = await this.#workspaces.value.create({ image, limits, network, environment });
    this.#running = { task, image, agent, endsAt: Number.POSITIVE_INFINITY };
    await agent.start();
    await agent.add("/", [
      { path: "logs", mode: 0o755, kind: "folder" },
      { path: artifactsFolder.slice(1), mode: 0o777, kind: "folder" },
    ]);
    if (config.healthcheck !== undefined)
      await untilHealthy(agent, config.healthcheck, { folder: config.folder, signal });
    const skills = config.skills === undefined ? undefined : await listSkills(agent, config.skills, signal);
    const endsAt = performance.now() + 1000 * (config.agent.seconds ?? Number.POSITIVE_INFINITY);
    this.#running = { task, image, agent, endsAt };
    return skills;
  }

  /** True if the agent's time is used up. */
  get isLate(): boolean {
    return this.#running !== undefined && performance.now() >= this.#running.endsAt;
  }

  /** Runs a command of the agent, within what is left of its time. */
  async run(command: readonly string[], signal: AbortSignal): Promise<CommandResult> {
    const { task, agent, endsAt } = this.#current();
    const limitMs = Math.max(0, Math.min(1000 * this.#settings.commandSeconds, endsAt - performance.now()));
    const { agent: phase, folder } = task.config;
    return agent.run({ command, limitMs, user: phase.user, folder, signal });
  }

  /** Runs the tests. The agent's processes are killed, and the containers are removed. A failed engine gets a retry. */
  async verify(signal: AbortSignal | undefined): Promise<Verification> {
    const { task, image, agent } = this.#current();
    const { rewardRange, network, root, artifacts } = this.#settings;
    const tar = `${task.name.replaceAll("/", "-")}-${randomUUID()}.tar`;
    const artifactsFile = artifacts === undefined ? undefined : join(artifacts, tar);
    const workspaces = this.#workspaces.value;
    const once = (): Promise<Verification> =>
      verify({ task, root, image, agent, workspaces, rewardRange, network, artifactsFile, signal });
    try {
      return await once().catch((error: unknown) => {
        signal?.throwIfAborted();
        if ((error as { code?: string }).code !== "sandbox.unavailable") throw error;
        return once();
      });
    } finally {
      await this.end();
    }
  }

  /** Removes the agent's container, if there is one. */
  async end(): Promise<void> {
    await this.#starting;
    const running = this.#running;
    this.#running = undefined;
    await running?.agent[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    try {
      await this.end();
    } finally {
      await this.#workspaces[Symbol.asyncDispose]();
    }
  }

  #current(): Running {
    if (this.#running === undefined) throw new Error("The episode is over.");
    return this.#running;
  }
}
