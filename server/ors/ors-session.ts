import { LyceumError } from "../../src/contract/errors/index.ts";
import { isJsonObject, type Json } from "../../src/contract/json.ts";
import type { Message, ToolSpec } from "../../src/contract/message.ts";
import { textMessage } from "../../src/contract/message.ts";
import type { ServedEnvironment } from "../session/environment-runner.ts";
import type { SessionEpisode, SessionStepResult } from "../session/session.ts";
import type { HostedSession } from "../session/session-host.ts";
import { blocksOf } from "./blocks.ts";
import { RunningCalls } from "./task-stream.ts";
import { messageToolName } from "./tool-list.ts";

/** The task of a session. */
export interface OrsTask {
  readonly split: string;
  readonly index: number;
  /** The seed of the environment's reset. 0 by default. */
  readonly seed?: number | undefined;
}

/** A session that takes ORS's tool calls: one episode of one agent on one task. */
export class OrsSession {
  readonly calls = new RunningCalls();
  readonly task: OrsTask;
  /** The first observation of the episode. Rejects with the error of the environment's reset. */
  readonly ready: Promise<readonly Message[]>;
  readonly #hosted: HostedSession;
  readonly #agent: string;
  #tools: readonly ToolSpec[];
  #finished = false;
  #queue: Promise<unknown> = Promise.resolve();

  /** Starts the episode. It does not wait for it. */
  constructor(hosted: HostedSession, { environment, task }: { environment: ServedEnvironment; task: OrsTask }) {
    const { spec } = environment;
    this.#hosted = hosted;
    this.task = task;
    this.#agent = spec.agents[0]!;
    this.#tools = spec.tools ?? [];
    this.ready = hosted.reset(task as OrsTask & { seed: number }).then((episode) => this.#observe(episode));
    this.ready.catch(() => {});
  }

  /** The tools of the next turn. */
  get tools(): readonly ToolSpec[] {
    return this.#tools;
  }

  /**
   * Makes one turn, after the earlier ones: a call of a tool, or a message by the tool for messages. Returns ORS's
   * `RunToolOutput`. Rejects with the error of the environment.
   */
  call(name: string, input: Json): Promise<Json> {
    const result = this.#queue.then(() => this.#call(name, input));
    this.#queue = result.catch(() => {});
    return result;
  }

  async #call(name: string, input: Json): Promise<Json> {
    await this.ready;
    if (this.#finished) return refused("episode_finished", "The episode has finished. Create another session.");
    const message = this.#message(name, input);
    if (typeof message === "string") return refused("input_validation", message);
    if (message === undefined) return refused("not_found", `'${name}' is not a valid tool.`);
    const finish = message.toolCalls === undefined ? "stop" : "tool-calls";
    const step = await this.#hosted.step({ actions: { [this.#agent]: { message, finish } } });
    const messages = this.#observe(step);
    const metadata = metadataOf(step, this.#agent);
    const { reward } = step.agents[this.#agent] ?? {};
    const value = reward?.status === "scored" ? reward.value : null;
    return { ok: true, output: { blocks: blocksOf(messages) as Json, metadata, reward: value, finished: step.done } };
  }

  /** Returns the message of a call. Returns a problem of the input as a text, and undefined for an unknown tool. */
  #message(name: string, input: Json): Message | string | undefined {
    if (this.#tools.some((tool) => tool.name === name)) {
      return { role: "assistant", content: [], toolCalls: [{ id: "call_0", name, arguments: input }] };
    }
    if (name !== messageToolName(this.#tools)) return undefined;
    const text = isJsonObject(input) ? input.text : undefined;
    return typeof text === "string" ? textMessage("assistant", text) : `${name} takes a text.`;
  }

  #observe({ observations }: SessionEpisode | SessionStepResult): readonly Message[] {
    const observation = observations[this.#agent];
    this.#finished = Object.keys(observations).length === 0;
    this.#tools = observation?.tools ?? this.#tools;
    return observation?.messages ?? [];
  }
}

/** Returns ORS's answer to a call that was not made. */
function refused(reason: "episode_finished" | "input_validation" | "not_found", error: string): Json {
  return { ok: false, error, reason };
}

/** Returns what a step states besides its reward, or null. */
function metadataOf({ agents, correct, info }: SessionStepResult, agent: string): Json {
  const { reward, truncated } = agents[agent] ?? {};
  const metadata = {
    ...(reward?.status === "unscored" ? { unscored: reward.reason } : {}),
    ...(reward?.status === "scored" ? { components: reward.components as Json } : {}),
    ...(truncated === true ? { truncated } : {}),
    ...(correct === undefined ? {} : { correct }),
    ...(info === undefined ? {} : { info }),
  };
  return Object.keys(metadata).length === 0 ? null : metadata;
}

/** The error for an environment that ORS cannot play. */
export function severalAgents({ name, spec }: ServedEnvironment): LyceumError {
  return new LyceumError({
    code: "server.invalid-request",
    message: `The environment "${name}" has the agents ${spec.agents.join(", ")}, and ORS has one agent.`,
    hint: "Use it by OpenEnv's protocol or by gRPC on the same server.",
  });
}
