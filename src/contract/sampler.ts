import type { TokenSupport } from "./token-support.ts";

/** How completions are drawn. Training samples at temperature 1 without top-k, top-p or min-p by default. */
export interface SamplingSettings {
  /** 0 is greedy. */
  readonly temperature: number;
  /** The most tokens of one completion, end-of-turn token included. */
  readonly maxTokens: number;
  /** Keep the k likeliest tokens. */
  readonly topK?: number;
  /** Keep the smallest set of tokens whose probability reaches p. */
  readonly topP?: number;
  /** Keep tokens at least this fraction as likely as the likeliest. */
  readonly minP?: number;
  /**
   * If top-k, top-p or min-p is in use, records with each token which tokens it was drawn from: `Sample.supports`.
   * Training on such tokens needs it. False by default: supports can be much longer than the tokens themselves.
   */
  readonly supports?: boolean;
  /** End when the text contains one of these; the token that completes it is kept, the text is cut before it. */
  readonly stop?: readonly string[];
}

/** True if top-k, top-p or min-p may exclude tokens from a draw with these settings. */
export function isTruncated({ temperature, topK = 0, topP = 1, minP = 0 }: SamplingSettings): boolean {
  return temperature > 0 && (topK > 0 || topP < 1 || minP > 0);
}

/** The settings used where none are given. */
export const defaultSampling: SamplingSettings = { temperature: 1, maxTokens: 256 };

/** One prompt to be completed. */
export interface SampleRequest {
  readonly promptIds: readonly number[];
  readonly settings: SamplingSettings;
  readonly seed: number;
  /** Token ids that end a completion; the sampled one is kept as the completion's last id. */
  readonly stopTokenIds: readonly number[];
}

/** One completion. */
export interface Sample {
  /** Index of the request that it answers. */
  readonly request: number;
  readonly ids: readonly number[];
  /** One per id: natural logarithm of its probability under the distribution that was sampled from. */
  readonly logprobs: readonly number[];
  /** One per id: the tokens that it was drawn from. Only if the settings ask for that and truncate. */
  readonly supports?: readonly TokenSupport[];
  /**
   * Where the weights have a value head: the value of each state, one before each id and one after the last, so one more
   * than there are ids.
   */
  readonly values?: readonly number[];
  readonly finish: "stop" | "length";
  /** The stop string that ended it, if one did. */
  readonly stopString?: string;
}

/** What {@link Sampler.sample} takes beside its requests. */
export interface SampleOptions {
  readonly signal?: AbortSignal;
  /**
   * Called now and then with how many tokens were sampled since the call began, those of unfinished completions
   * included. A sampler may leave it uncalled.
   */
  readonly onTokens?: (count: number) => void;
}

/** Token-level sampling from fixed weights. */
export interface Sampler {
  /** Version of the weights: grows by one with each optimizer step. */
  readonly version: number;
  /** Completions in the order they finish. Repeats exactly for the same list of requests. */
  sample(requests: readonly SampleRequest[], options?: SampleOptions): AsyncIterable<Sample>;
  close(): Promise<void>;
}
