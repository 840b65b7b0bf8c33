import type { Action, AgentId } from "./action.ts";
import type { ErrorData } from "./errors/index.ts";
import type { Json, JsonObject } from "./json.ts";
import type { JudgeUsage } from "./judge.ts";
import type { Message, ToolSpec } from "./message.ts";
import type { ActResult, ModelCall, TokenUsage } from "./policy.ts";
import type { Reward } from "./reward.ts";
import type { TokenSupport } from "./token-support.ts";

/**
 * How an episode ended. `completed`: the environment ended it. `truncated`: a turn, token or time limit of the rollout
 * loop ended it. `failed`: an environment or a policy threw. `aborted`: the caller aborted it.
 */
export type EpisodeStatus = "completed" | "truncated" | "failed" | "aborted";

/**
 * One run of an environment on one task. An error in the episode is recorded here and does not stop other episodes.
 *
 * @example
 * import { type Episode, rolloutEpisode, scriptedPolicy } from "lyceum";
 * import { mathEnvironment } from "lyceum/environments";
 * const environment = mathEnvironment({ tasks: "arithmetic" });
 * const task = await (await environment.tasks("test")).get(0);
 * const episode: Episode = await rolloutEpisode({ environment, policies: scriptedPolicy(["no"]), task, seed: 1 });
 * episode.status; // => "completed"
 * episode.turns; // => 1
 */
export interface Episode {
  /** Unique within a rollout and reproducible. Derived from the task hash, `sampleIndex` and the seed. */
  readonly id: string;
  readonly environment: string;
  readonly task: { readonly index: number; readonly id: string; readonly hash: string };
  /**
   * All randomness of the episode derives from this seed, the task and `sampleIndex`. It is the seed of the rollout, or
   * one derived from it if a task with the same hash occurs again.
   */
  readonly seed: number;
  /** The index of the episode in its group, from 0. */
  readonly sampleIndex: number;
  readonly status: EpisodeStatus;
  readonly error?: ErrorData;
  /**
   * The limit that truncated the episode. `shape`: a joint rollout did not continue it, or the rollout's reward
   * threshold ended it early.
   */
  readonly limit?: "turns" | "tokens" | "time" | "shape";
  readonly agents: Readonly<Record<AgentId, AgentEpisode>>;
  readonly turns: number;
  /** True if the answer is correct, as the environment last stated. Absent if the environment does not state it. */
  readonly correct?: boolean;
  /** The requests to judge models. Absent if there are none. */
  readonly judge?: JudgeUsage;
  /** The info objects of the steps that have one. */
  readonly info?: readonly Json[];
  readonly durationMs: number;
  /** The errors of earlier attempts, which the server of a remote environment lost. Absent if there are none. */
  readonly lost?: readonly ErrorData[];
}

/** The observations, actions and rewards of one agent. */
export interface AgentEpisode {
  /** The name of the agent's policy. Absent in traces of earlier versions. */
  readonly policy?: string;
  /** The conversation as a tree, in order of creation. A parent precedes its children. `replace` adds a root. */
  readonly nodes: readonly MessageNode[];
  readonly turns: readonly AgentTurn[];
  /** The variables of the chat template in the last observation, if it had any. */
  readonly templateVariables?: JsonObject;
  /**
   * The sum of the turns' rewards. Unscored if one of them is unscored. A failed episode is unscored, except if an
   * action made the environment fail in each attempt: the agent of the action then gets the lowest reward, with
   * `failure`.
   */
  readonly reward: Reward;
  readonly terminated: boolean;
  readonly truncated: boolean;
}

/** One message in the trace. It has tokens if the policy has access to tokens. */
export interface MessageNode {
  readonly id: number;
  readonly parent: number | null;
  readonly turn: number;
  readonly message: Message;
  readonly tokens?: NodeTokens;
}

/**
 * The tokens of a node. All tokens of an observation belong to its last message and have mask 0. The tokens of an
 * action are the sampled ones. They have mask 1 and a logprob each.
 */
export interface NodeTokens {
  readonly ids: readonly number[];
  readonly mask: 0 | 1;
  readonly logprobs?: readonly number[];
  /** The support of each id, if top-k, top-p or min-p was in use and supports were recorded. */
  readonly supports?: readonly TokenSupport[];
  /** True if the ids were sampled with top-k, top-p or min-p and their supports were not recorded. */
  readonly lacksSupports?: true;
  /** For sampled ids: the value of the state before each id and after the last, if the policy returned values. */
  readonly values?: readonly number[];
  readonly weightsVersion?: number;
  /** The sampling temperature. Present only for sampled ids. */
  readonly temperature?: number;
  /** True if these ids begin a new training sequence. False if they continue that of the parent. */
  readonly startsSequence: boolean;
}

/** One action of one agent. */
export interface AgentTurn {
  readonly turn: number;
  /** The node of the action. */
  readonly node: number;
  readonly finish: Action["finish"];
  readonly parseErrors?: Action["parseErrors"];
  readonly reward?: Reward;
  /** From the policy's {@link ActResult}, as are the fields below. */
  readonly finishReason?: string;
  readonly usage?: ActResult["usage"];
  readonly latencyMs?: number;
  readonly retries?: number;
  readonly logprobs?: ActResult["logprobs"];
  /** The model calls that led to the action, oldest first. The node of the action then has no tokens. */
  readonly calls?: readonly RecordedCall[];
}

/** The record of one {@link ModelCall}. */
export interface RecordedCall {
  /** The index of the call of this turn that it continues. */
  readonly continues?: number;
  /** The messages of the request. If it continues a call: only those after that call's answer. */
  readonly messages: readonly Message[];
  /** The tools of the request, if they differ from those of the call that it continues. */
  readonly tools?: readonly ToolSpec[];
  /** The answer of the model. */
  readonly answer: Message;
  readonly finish: Action["finish"];
  readonly parseErrors?: Action["parseErrors"];
  /**
   * The tokens of the request after those of the call that it continues. `startsSequence` is true if they do not extend
   * the tokens of that call, because the chat template renders its messages in another way.
   */
  readonly prompt?: NodeTokens;
  /** The sampled tokens of the answer. */
  readonly completion?: NodeTokens;
  readonly usage?: TokenUsage;
  readonly latencyMs?: number;
}

/**
 * The episodes of one task, in order of `sampleIndex`.
 *
 * @example
 * import type { Group } from "lyceum";
 * // The share of correct episodes.
 * const accuracy = ({ episodes }: Group): number =>
 *   episodes.filter(({ correct }) => correct === true).length / episodes.length;
 */
export interface Group<Played extends Episode = Episode> {
  readonly task: Episode["task"];
  readonly episodes: readonly Played[];
}

/** One sequence of tokens that an agent's model read and sampled. Trainers train on these sequences. */
export interface TokenSequence {
  readonly agent: AgentId;
  readonly ids: readonly number[];
  /** One per id: 1 if the id was sampled. */
  readonly mask: readonly (0 | 1)[];
  /** One per id: 0 if the id was not sampled. */
  readonly logprobs: readonly number[];
  /** The support of each id. Null if it is the whole vocabulary, and for ids that were not sampled. */
  readonly supports?: readonly TokenSupport[];
  /** True if some ids were sampled with top-k, top-p or min-p and their supports were not recorded. */
  readonly lacksSupports?: true;
  /**
   * One per id: the value of the state after it, if the next id was sampled in that state or a turn ended there. Else
   * 0. Present only if all turns were sampled with values.
   */
  readonly values?: readonly number[];
  /** One per id: the turn of the id. */
  readonly turns: readonly number[];
  /** The temperature of the sampled ids. */
  readonly temperature: number;
  /** The oldest weights version among the sampled ids. */
  readonly weightsVersion: number;
  /**
   * True if the maximum number of tokens cut off a completion: any completion of the agent in the episode. For a
   * separate completion of a joint rollout: this one.
   */
  readonly cutOff?: true;
}
