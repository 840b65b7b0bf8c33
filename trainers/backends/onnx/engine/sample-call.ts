import type { Sample, SampledToken, SampleOptions, SampleRequest } from "../../../../src/contract/sampler.ts";
import { Completion } from "../../../../src/core/policy/completion.ts";
import type { Tokenizer } from "../../../../src/core/tokens/tokenizer.ts";

/** What a call of {@link SampleCall} reports, and how it is stopped. */
export interface SampleCallOptions extends Pick<SampleOptions, "onTokens" | "onSampled"> {
  readonly signal: AbortSignal;
  /** The indices of requests that must stop. Grows during the call. */
  readonly dropped?: ReadonlySet<number> | undefined;
  readonly onSample: (sample: Sample) => void;
  /** A promise to await if what was reported is not received yet. */
  readonly room?: (() => Promise<void> | undefined) | undefined;
}

/** A call of `sample` that runs, alone or with others in one batch. */
export class SampleCall {
  /** Resolves after the last sample. Rejects if the call is aborted or fails. */
  readonly ended: Promise<void>;
  readonly #options: SampleCallOptions;
  /** The completions without a row, the next one last. */
  #waiting: Completion[];
  readonly #unfinished: Set<Completion>;
  readonly #end: PromiseWithResolvers<void> = Promise.withResolvers();
  #hasEnded = false;
  /** What was sampled since the last report. */
  #sampled: SampledToken[] = [];
  #finished: Sample[] = [];
  #tokens = 0;
  #dropped = 0;

  /** `tokenizer` is required only for stop sequences. */
  constructor(
    requests: readonly SampleRequest[],
    options: SampleCallOptions & { readonly tokenizer: Tokenizer | undefined; readonly maxLength: number },
  ) {
    const { tokenizer, maxLength } = options;
    const onToken = (token: SampledToken): void => void this.#sampled.push(token);
    const completions = requests.map(
      (request, index) => new Completion({ request, index, tokenizer, maxLength, onToken }),
    );
    this.#options = options;
    this.#waiting = completions.toReversed();
    this.#unfinished = new Set(completions);
    this.ended = this.#end.promise;
  }

  /** A promise to await before the next run, if the call's receiver is behind. */
  room(): Promise<void> | undefined {
    return this.#options.room?.();
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** The number of completions without a row. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** The number of unfinished completions that have a row. */
  get rows(): number {
    return this.#unfinished.size - this.#waiting.length;
  }

  /** True if the completion is one of this call and needs more tokens. */
  needs(completion: Completion): boolean {
    return !this.#hasEnded && this.#unfinished.has(completion);
  }

  /** Changes the order of the completions without a row. */
  order(change: (waiting: readonly Completion[]) => Completion[]): void {
    this.#waiting = change(this.#waiting.toReversed()).toReversed();
  }

  /** Returns the next completion without a row, which gets one. */
  next(): Completion | undefined {
    return this.#waiting.pop();
  }

  /** Samples one token of a completion. Returns true if it needs more. If the probabilities are NaN, the call fails. */
  advance(completion: Completion, probabilities: Float32Array, value: number | undefined): boolean {
    try {
      const sample = completion.advance(probabilities, value);
      if (sample === undefined) return true;
      this.#finished.push(sample);
      this.#unfinished.delete(completion);
    } catch (error) {
      this.fail(error);
    }
    return false;
  }

  fail(error: unknown): void {
    this.#hasEnded = true;
    this.#end.reject(error);
  }

  /** Reports what was sampled since the last time. Then looks for requests that were dropped, and for an abort. */
  update(): void {
    if (this.#hasEnded) return;
    const { signal, dropped, onTokens, onSampled, onSample } = this.#options;
    const [sampled, finished] = [this.#sampled, this.#finished];
    [this.#sampled, this.#finished] = [[], []];
    if (sampled.length > 0) onSampled?.(sampled);
    for (const sample of finished) onSample(sample);
    this.#tokens += sampled.length;
    if (sampled.length > 0) onTokens?.(this.#tokens);
    if (dropped !== undefined && dropped.size > this.#dropped) {
      this.#dropped = dropped.size;
      const isKept = ({ index }: Completion): boolean => !dropped.has(index);
      this.#waiting = this.#waiting.filter(isKept);
      for (const completion of this.#unfinished) if (!isKept(completion)) this.#unfinished.delete(completion);
    }
    if (this.#unfinished.size === 0) {
      this.#hasEnded = true;
      this.#end.resolve();
      return;
    }
    try {
      signal.throwIfAborted();
    } catch (reason) {
      this.fail(reason);
    }
  }
}
