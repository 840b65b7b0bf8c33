import type { Action, AgentId } from "./action.ts";
import type { ErrorData } from "./errors/index.ts";
import type { Json } from "./json.ts";
import type { Message } from "./message.ts";
import type { ActResult } from "./policy.ts";
import type { Reward } from "./reward.ts";
import type { TokenSupport } from "./token-support.ts";

/**
 * How an episode ended. `completed`: the environment ended it; `truncated`: a turn, token or time limit of the loop
 * did; `failed`: an environment or policy threw; `aborted`: the caller stopped it.
 */
export type EpisodeStatus = "completed" | "truncated" | "failed" | "aborted";

/** One run of one task. What went wrong inside it is data here and stops nothing else. */
export interface Episode {
  /** Unique within a rollout and repeatable: made of task hash, member and seed. */
  readonly id: string;
  readonly environment: string;
  readonly task: { readonly index: number; readonly id: string; readonly hash: string };
  /**
   * Everything random in the episode derives from it, the task and the member: the seed of the rollout, or one
   * derived from it where a task of this hash comes again.
   */
  readonly seed: number;
  /** Index within its group, from 0. */
  readonly member: number;
  readonly status: EpisodeStatus;
  readonly error?: ErrorData;
  /** What truncated it: a limit, or `shape`: a joint rollout did not go on with it, or its threshold ended it early. */
  readonly limit?: "turns" | "tokens" | "time" | "shape";
  readonly agents: Readonly<Record<AgentId, AgentEpisode>>;
  readonly turns: number;
  /** Whether its answers are right, as the environment stated last; absent if it states nothing. */
  readonly correct?: boolean;
  /** Info objects of the steps, where the environment gave any. */
  readonly info?: readonly Json[];
  readonly durationMs: number;
}

/** What one agent saw, did and earned. */
export interface AgentEpisode {
  /** The name of the policy that played it; absent in traces of earlier versions. */
  readonly policy?: string;
  /** The conversation as a tree in order of creation: a node's parent comes before it; `replace` adds a root. */
  readonly nodes: readonly MessageNode[];
  readonly turns: readonly AgentTurn[];
  /**
   * The sum over its turns; unscored when one of them is. A failed episode is unscored, unless an action made the
   * environment fail, each time it was tried: its agent then has the lowest reward, with the failure.
   */
  readonly reward: Reward;
  readonly terminated: boolean;
  readonly truncated: boolean;
}

/** One message in the trace, with its tokens where a policy that sees tokens was asked. */
export interface MessageNode {
  readonly id: number;
  readonly parent: number | null;
  readonly turn: number;
  readonly message: Message;
  readonly tokens?: NodeTokens;
}

/**
 * Tokens of a node. Those of an observation stand on its last message, all with mask 0; those of an action are what
 * was sampled, with mask 1 and a log-probability each.
 */
export interface NodeTokens {
  readonly ids: readonly number[];
  readonly mask: 0 | 1;
  readonly logprobs?: readonly number[];
  /** The tokens that each id was drawn from, if top-k, top-p or min-p was in use and they were recorded. */
  readonly supports?: readonly TokenSupport[];
  /** True if the ids were sampled with top-k, top-p or min-p and their supports were not recorded. */
  readonly lacksSupports?: true;
  /** Of what was sampled: the value of the state before each id, and of that after the last, where a policy gave them. */
  readonly values?: readonly number[];
  readonly weightsVersion?: number;
  /** The temperature that the ids were sampled at; only where they were sampled. */
  readonly temperature?: number;
  /** True when these ids begin a new training sequence rather than continue their parent's. */
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
  /** What the policy said of making the action, as in its {@link ActResult}. */
  readonly usage?: ActResult["usage"];
  readonly latencyMs?: number;
  readonly retries?: number;
  readonly logprobs?: ActResult["logprobs"];
}

/** The episodes of one task, in order of member. */
export interface Group {
  readonly task: Episode["task"];
  readonly episodes: readonly Episode[];
}

/** A stretch of tokens that one agent's model saw and sampled as one sequence: what a trainer trains on. */
export interface TokenSequence {
  readonly agent: AgentId;
  readonly ids: readonly number[];
  /** One per id: 1 where the id was sampled. */
  readonly mask: readonly (0 | 1)[];
  /** One per id; 0 where it was not sampled. */
  readonly logprobs: readonly number[];
  /** One per id: the tokens that it was drawn from; null for every token, and for an id that was not sampled. */
  readonly supports?: readonly TokenSupport[];
  /** True if some ids were sampled with top-k, top-p or min-p and their supports were not recorded. */
  readonly lacksSupports?: true;
  /**
   * One per id: the value of the state after it, where that state was acted in or ended a turn; 0 elsewhere. Only
   * where every turn was sampled with values.
   */
  readonly values?: readonly number[];
  /** One per id: the turn it belongs to. */
  readonly turns: readonly number[];
  /** Temperature of the sampled ids. */
  readonly temperature: number;
  /** The oldest weights version among the sampled ids. */
  readonly weightsVersion: number;
  /**
   * True if the most tokens that a completion may have cut one off: any of the agent's in the episode, or of a completion
   * that stands by itself (a joint rollout's) this one.
   */
  readonly cutOff?: true;
}
