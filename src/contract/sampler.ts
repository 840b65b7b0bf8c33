import type { TokenSupport } from "./token-support.ts";

/**
 * The settings of sampling. Training uses temperature 1 without top-k, top-p and min-p by default.
 *
 * @example
 * import type { SamplingSettings } from "lyceum";
 * const greedy: SamplingSettings = { temperature: 0, maxTokens: 64, stop: ["\n"] };
 * greedy.temperature; // => 0
 */
export interface SamplingSettings {
  /** 0 means greedy. */
  readonly temperature: number;
  /** The maximum number of tokens of one completion, including the end-of-turn token. */
  readonly maxTokens: number;
  /** Keeps the k most likely tokens. */
  readonly topK?: number;
  /** Keeps the smallest set of tokens whose total probability reaches p. */
  readonly topP?: number;
  /** Keeps tokens whose probability is at least this fraction of the greatest one. */
  readonly minP?: number;
  /**
   * Records the support of each token in `Sample.supports` if top-k, top-p or min-p is in use. Training on such tokens
   * requires it. Default: false, because supports can be much longer than the tokens.
   */
  readonly supports?: boolean;
  /**
   * Stop sequences. A completion ends when its text contains one of them. The ids include the token that completes it,
   * and the text is cut before it.
   */
  readonly stop?: readonly string[];
}

/** True if top-k, top-p or min-p may exclude tokens with these settings. */
export function isTruncated({ temperature, topK = 0, topP = 1, minP = 0 }: SamplingSettings): boolean {
  return temperature > 0 && (topK > 0 || topP < 1 || minP > 0);
}

/** The default sampling settings. */
export const defaultSampling: SamplingSettings = { temperature: 1, maxTokens: 256 };

/** A prompt to complete. */
export interface SampleRequest {
  readonly promptIds: readonly number[];
  readonly settings: SamplingSettings;
  readonly seed: number;
  /** The token ids that end a completion. The sampled one is the completion's last id. */
  readonly stopTokenIds: readonly number[];
  /**
   * The number of most likely tokens to record for each id, as `Sample.topLogprobs`. 0 by default. Optional for a
   * sampler.
   */
  readonly topLogprobs?: number;
  /** True if no later prompt continues the completion: with `reuse`, only the prompt is kept then. Default: false. */
  readonly last?: boolean;
}

/** A completion. */
export interface Sample {
  /** The index of its request. */
  readonly request: number;
  readonly ids: readonly number[];
  /** The logprob of each id, under the distribution that it was sampled from. */
  readonly logprobs: readonly number[];
  /**
   * One per id: the tokens that it was sampled from. Present only if the settings ask for supports and truncate the
   * distribution.
   */
  readonly supports?: readonly TokenSupport[];
  /**
   * One per id: the most likely ids of the distribution that it was sampled from, with their logprobs, likeliest first.
   * Fewer than asked for if the settings truncate the distribution to fewer. Ties go to the lower id.
   */
  readonly topLogprobs?: readonly (readonly (readonly [id: number, logprob: number])[])[];
  /**
   * The values of the states, if the weights have a value head: one before each id and one after the last, so one more
   * than ids.
   */
  readonly values?: readonly number[];
  readonly finish: "stop" | "length";
  /** The stop sequence that ended it, if any. */
  readonly stopString?: string;
  /** The number of prompt tokens that were not read, because another prompt of this or an earlier call had been read. */
  readonly reusedTokens?: number;
}

/** The options of {@link Sampler.sample}. */
export interface SampleOptions {
  readonly signal?: AbortSignal;
  /**
   * One signal for each request. If one aborts, a sampler may stop this request and yield no sample of it. The other
   * requests continue. Optional for a sampler: without support, it samples every request to its end.
   */
  readonly signals?: readonly AbortSignal[] | undefined;
  /**
   * Called periodically with the number of tokens sampled since the call began, including those of unfinished
   * completions. Optional for a sampler.
   */
  readonly onTokens?: (count: number) => void;
  /**
   * Called after each decoding step with its tokens. The tokens of a completion come in order, all before its sample.
   * Optional for a sampler.
   */
  readonly onSampled?: (tokens: readonly SampledToken[]) => void;
  /**
   * True if the call may share a batch with other shared calls that run at the same time. Use it in servers: a call
   * then does not wait until the running ones have ended. The other calls of the batch change its log-probabilities by
   * rounding, so equal calls may differ. Default: false. Optional for a sampler.
   */
  readonly shared?: boolean;
  /**
   * True if the call may continue what earlier calls with this option have read, and later ones may continue its
   * sequences. Use it for conversations and for prompts with a common beginning, which are then not read again. What was
   * read before changes the log-probabilities by rounding, so equal calls may differ. Equal lists of calls of the
   * first samplers of a backend do not. Default: false, and true for shared calls. Optional for a sampler.
   */
  readonly reuse?: boolean | undefined;
}

/** A token of a completion that may be unfinished. */
export interface SampledToken {
  /** The index of its request. */
  readonly request: number;
  readonly id: number;
  readonly logprob: number;
  /** The entry of this token in `Sample.topLogprobs`. Present if the sample has them. */
  readonly topLogprobs?: readonly (readonly [id: number, logprob: number])[];
}

/** A sequence to score. */
export interface ScoreRequest {
  readonly ids: readonly number[];
  /** How many of the last ids are scored. By default all but the first, which has no token before it. */
  readonly last?: number;
  /** The number of most likely tokens to return for each scored id. 0 by default. */
  readonly topK?: number;
  /** For each scored id, other ids whose logprobs at its position are returned too. None by default. */
  readonly targets?: readonly Int32Array[];
}

/** The scores of the last ids of a sequence, in order. */
export interface TokenScores {
  /** The logprob of each id at temperature 1, given the ids before it. */
  readonly logprobs: Float32Array;
  /** The `topK` most likely ids at the position of each scored id, likeliest first. Ties go to the lower id. */
  readonly topIds: Int32Array;
  /** The logprobs of `topIds`. */
  readonly topLogprobs: Float32Array;
  /** The logprobs of the request's `targets`. */
  readonly targetLogprobs: readonly Float32Array[];
}

/** Samples tokens from fixed weights. */
export interface Sampler {
  readonly specificationVersion: "v1";
  /** The version of the weights. It increases by one with each optimizer step. */
  readonly version: number;
  /**
   * Yields completions in the order in which they finish. Equal lists of requests give equal results. With
   * `shared` or `reuse`, or if a server joins requests into batches, log-probabilities may differ by rounding.
   */
  sample(requests: readonly SampleRequest[], options?: SampleOptions): AsyncIterable<Sample>;
  /** Computes the logprobs of the tokens of a sequence. Optional for a sampler. */
  score?(request: ScoreRequest, options?: Pick<SampleOptions, "signal">): Promise<TokenScores>;
  close(): Promise<void>;
}
