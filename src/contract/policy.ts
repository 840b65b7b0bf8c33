import type { Action, AgentId } from "./action.ts";
import type { ErrorData } from "./errors/index.ts";
import type { JsonObject } from "./json.ts";
import type { Message, PartType, ToolSpec } from "./message.ts";
import type { SamplingSettings } from "./sampler.ts";
import type { TaskEntry } from "./taskset.ts";
import type { TokenPrefix } from "./token-prefix.ts";
import type { TokenSupport } from "./token-support.ts";

/**
 * A request for one action of an agent.
 *
 * @example
 * import { type ActRequest, textMessage, textOf } from "lyceum";
 * const question = ({ messages }: ActRequest): string => textOf(messages.at(-1)!);
 * const messages = [textMessage("user", "What is 2 + 2?")];
 * question({ agent: "agent", messages, sampling: { temperature: 1, maxTokens: 8 }, seed: 1 }); // => "What is 2 + 2?"
 */
export interface ActRequest {
  readonly agent: AgentId;
  /** The whole conversation from this agent's view, oldest message first. The last message is not the agent's own. */
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolSpec[];
  /** Variables of the chat template for this request, in addition to those of the model. */
  readonly templateVariables?: JsonObject;
  readonly sampling: SamplingSettings;
  /** The seed of this action. The same request and seed give the same action if the policy is deterministic. */
  readonly seed: number;
  /**
   * The position of this request in task order. Present if a rollout loop composes batches: a batching policy then
   * keeps the request until {@link Policy.flush} and sorts by `order`. Without it, the policy answers as soon as
   * possible.
   */
  readonly order?: readonly number[];
  /**
   * True in the last turn that the episode can have: no request continues this conversation. An episode may end earlier.
   * A policy that asks another one several times for an action leaves it out.
   */
  readonly last?: boolean;
  /** The tokens of this conversation so far, if the agent's earlier turns have tokens. */
  readonly previous?: PreviousTokens;
  /**
   * The position in the rollout, for policies that are not models (an expert, a script). Policies of models never read
   * it.
   */
  readonly episode?: EpisodeContext;
  readonly signal?: AbortSignal;
}

/** The position of a request in a rollout. */
export interface EpisodeContext {
  readonly task: TaskEntry;
  /** The seed of the environment's reset. */
  readonly seed: number;
  readonly sampleIndex: number;
  /** The environment step of the action, from 0. */
  readonly turn: number;
}

/**
 * The tokens up to and including an agent's last action, and the number of the request's messages that they contain.
 */
export interface PreviousTokens {
  readonly ids: TokenPrefix;
  readonly messageCount: number;
}

/** The exact tokens of an action. */
export interface ActTokens {
  /**
   * True if the model's prompt was the request's `previous.ids` followed by `newPromptIds`. False if it was
   * `newPromptIds` alone, which begins a new training sequence.
   */
  readonly extendsPrevious: boolean;
  /** The prompt without the tokens of `previous.ids`, so that the tokens of a turn do not contain those before it. */
  readonly newPromptIds: readonly number[];
  /** The number of tokens of the prompt that the model read. The loop rejects tokens that do not add up to it. */
  readonly promptLength: number;
  /** The sampled ids, including the end-of-turn token if it was sampled. */
  readonly completionIds: readonly number[];
  /** One logprob per completion id, under the distribution that it was sampled from. */
  readonly logprobs: readonly number[];
  /**
   * One per completion id: the tokens that it was sampled from. Present if the request's sampling settings ask for
   * supports and truncate the distribution.
   */
  readonly supports?: readonly TokenSupport[];
  /**
   * The value of the state before each completion id and of the state after the last. Present if the weights have a
   * value head.
   */
  readonly values?: readonly number[];
  /** The settings that were used, if they differ from the request's. */
  readonly sampling?: SamplingSettings;
  /** The version of the weights that sampled. */
  readonly weightsVersion: number;
}

/**
 * One call of a model. A policy that runs an agent program makes several of them for one action. Training treats their
 * tokens as it treats the tokens of an action.
 */
export interface ModelCall {
  /**
   * The index of an earlier call of the same action. The messages of this call begin with the messages of that call and
   * its answer. Absent if the call begins a new conversation.
   */
  readonly continues?: number;
  /** The whole conversation of the request, oldest message first. */
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolSpec[];
  /** The answer of the model. */
  readonly action: Action;
  /** The exact tokens. `extendsPrevious` refers to the tokens of the call that this one continues. */
  readonly tokens?: ActTokens;
  readonly usage?: TokenUsage;
  readonly latencyMs?: number;
}

/**
 * The answer of a policy.
 *
 * @example
 * import { type ActResult, textMessage } from "lyceum";
 * const result: ActResult = {
 *   action: { message: textMessage("assistant", "4"), finish: "stop" },
 *   usage: { promptTokens: 12, completionTokens: 2 },
 * };
 * result.action.finish; // => "stop"
 */
export interface ActResult {
  readonly action: Action;
  /** Present only for policies with access to tokens. */
  readonly tokens?: ActTokens;
  /**
   * The model calls that led to the action, oldest first, if it was not sampled in one call. Then `tokens` is absent.
   */
  readonly calls?: readonly ModelCall[];
  /**
   * Present if what the model answered in `calls` made the policy's program fail. The episode fails, and the agent
   * earns the lowest reward. A failure with another cause must reject instead.
   */
  readonly failure?: ErrorData;
  /** The sampled tokens as reported by a server. Absent if `tokens` has the exact ids. */
  readonly logprobs?: readonly TokenLogprob[];
  /** The word by which a server ended the answer, if it is not a known one. `action.finish` is then a guess. */
  readonly finishReason?: string;
  readonly usage?: TokenUsage;
  /**
   * The duration of the successful request in milliseconds, without waiting for rate limits and without failed tries.
   */
  readonly latencyMs?: number;
  /** The number of failed tries before the answer. */
  readonly retries?: number;
}

/** Token counts as reported by the model's side. */
export interface TokenUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** The prompt tokens that were read from a cache. */
  readonly cachedPromptTokens?: number;
  /** The completion tokens that were used for reasoning. */
  readonly reasoningTokens?: number;
}

/** A sampled token as reported by a server. */
export interface TokenLogprob {
  readonly text: string;
  /** The logprob under the distribution that the server reports, often before sampling settings. */
  readonly logprob: number;
  readonly id?: number;
}

/**
 * Chooses actions: a model in training, a model behind a server, a script, a person. It has no state of an episode. The
 * loop passes it the whole conversation each time.
 *
 * @example
 * import { type Policy, textMessage, textOf } from "lyceum";
 * // Repeats the last message.
 * const echo: Policy = {
 *   specificationVersion: "v1",
 *   name: "echo",
 *   accepts: ["text"],
 *   act: async ({ messages }) => ({
 *     action: { message: textMessage("assistant", textOf(messages.at(-1)!)), finish: "stop" },
 *   }),
 * };
 * echo.name; // => "echo"
 */
export interface Policy {
  readonly specificationVersion: "v1";
  readonly name: string;
  /** The part types that it accepts. The loop rejects an environment that sends others. */
  readonly accepts: readonly PartType[];
  act(request: ActRequest): Promise<ActResult>;
  /**
   * Called by the rollout loop when every running episode waits for a policy, so that no request can arrive before one
   * is answered. A batching policy then runs its queued requests. A request is queued as soon as `act` has been called.
   * Policies that answer each request on its own omit `flush`.
   */
  flush?(): void;
  close?(): Promise<void>;
}
