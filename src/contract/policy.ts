import type { Action, AgentId } from "./action.ts";
import type { Message, PartType, ToolSpec } from "./message.ts";
import type { SamplingSettings } from "./sampler.ts";
import type { TaskEntry } from "./taskset.ts";
import type { TokenSupport } from "./token-support.ts";

/** What a policy is asked: what agent acts, on which conversation. */
export interface ActRequest {
  readonly agent: AgentId;
  /** The whole conversation as this agent has it, oldest first; the last message is not the agent's own. */
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolSpec[];
  readonly sampling: SamplingSettings;
  /** Seeds this one action. The same request and seed give the same action where the policy can promise that. */
  readonly seed: number;
  /**
   * Present when a rollout loop composes batches: the place of this request in task order. A batching policy then
   * holds the request until {@link Policy.flush} and sorts by it; without it, it answers as soon as it can.
   */
  readonly order?: readonly number[];
  /** The tokens of this conversation so far, where the agent's earlier turns came with tokens. */
  readonly previous?: PreviousTokens;
  /** What is being played, for policies that are no model (an expert, a script). A model's policy never reads it. */
  readonly episode?: EpisodeContext;
  readonly signal?: AbortSignal;
}

/** Where in a rollout a request stands. */
export interface EpisodeContext {
  readonly task: TaskEntry;
  /** What the environment was reset with. */
  readonly seed: number;
  readonly member: number;
  /** The step of the environment that the action is for, from 0. */
  readonly turn: number;
}

/** The tokens up to and including an agent's last action, and how many of the request's messages they stand for. */
export interface PreviousTokens {
  readonly ids: readonly number[];
  readonly messageCount: number;
}

/** The exact tokens behind an action. */
export interface ActTokens {
  /** Everything the model saw, to the id. */
  readonly promptIds: readonly number[];
  /** True when `promptIds` begins with the request's `previous.ids`; false begins a new training sequence. */
  readonly extendsPrevious: boolean;
  /** What was sampled, end-of-turn token included where it was sampled. */
  readonly completionIds: readonly number[];
  /** One natural logarithm per completion id, under the distribution that was sampled from. */
  readonly logprobs: readonly number[];
  /** One per completion id: the tokens that it was drawn from, if the request's sampling asks for that and truncates. */
  readonly supports?: readonly TokenSupport[];
  /** The value of the state before each completion id, and of that after the last; from weights with a value head. */
  readonly values?: readonly number[];
  /** The settings that it was sampled with, if these are not those of the request. */
  readonly sampling?: SamplingSettings;
  /** Version of the weights that sampled. */
  readonly weightsVersion: number;
}

/** What a policy answers. */
export interface ActResult {
  readonly action: Action;
  /** Only from policies that see tokens. */
  readonly tokens?: ActTokens;
  /** The sampled tokens as far as a server tells of them; left out where `tokens` has them to the id. */
  readonly logprobs?: readonly TokenLogprob[];
  readonly usage?: TokenUsage;
  /** Milliseconds of the request that was answered: neither waits for a rate limit nor failed tries count. */
  readonly latencyMs?: number;
  /** Failed tries before it. */
  readonly retries?: number;
}

/** Tokens as the model's side counts them. */
export interface TokenUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Of the prompt, read from a cache. */
  readonly cachedPromptTokens?: number;
  /** Of the completion, spent on reasoning. */
  readonly reasoningTokens?: number;
}

/** One sampled token as a server reports it. */
export interface TokenLogprob {
  readonly text: string;
  /** Natural logarithm of its probability, under the distribution that the server reports (often before sampling settings). */
  readonly logprob: number;
  readonly id?: number;
}

/**
 * Something that acts: a model being trained, a model behind a server, a script, a person. It holds no state of an
 * episode; the loop hands it the conversation each time.
 */
export interface Policy {
  readonly specificationVersion: "v1";
  readonly name: string;
  /** The part types it can take. The loop refuses an environment that sends others. */
  readonly accepts: readonly PartType[];
  act(request: ActRequest): Promise<ActResult>;
  /**
   * Called by the rollout loop when every live episode waits for a policy, so that no request can come before one is
   * answered: a batching policy runs what it holds. A request is held as soon as `act` has been called. Policies that
   * answer each request by itself leave `flush` out.
   */
  flush?(): void;
  close?(): Promise<void>;
}
