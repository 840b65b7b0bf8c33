import {
  isTruncated,
  type Sample,
  type SampledToken,
  type SampleOptions,
  type SampleRequest,
  type Sampler,
  type ScoreRequest,
  type TokenScores,
} from "../../../src/contract/sampler.ts";
import { Completion, type SampledChoice } from "../../../src/core/policy/completion.ts";
import { sum } from "../../../src/core/statistics.ts";
import type { Tokenizer } from "../../../src/core/tokens/tokenizer.ts";
import { checkRequests, checkScore } from "../shared/check-input.ts";
import type { FrameArrays } from "./frames.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** Samples from a snapshot of weights in the worker. Stop sequences are found here, so that the worker needs no text. */
export class TorchSampler implements Sampler {
  readonly specificationVersion = "v1";
  readonly version: number;
  readonly #worker: WorkerProcess;
  readonly #id: number;
  readonly #limits: { readonly maxLength: number; readonly vocabularySize: number };
  readonly #tokenizer: Tokenizer;
  #closed = false;

  constructor(options: {
    readonly worker: WorkerProcess;
    readonly id: number;
    readonly version: number;
    readonly maxLength: number;
    readonly vocabularySize: number;
    readonly tokenizer: Tokenizer;
  }) {
    this.#worker = options.worker;
    this.#id = options.id;
    this.version = options.version;
    this.#limits = options;
    this.#tokenizer = options.tokenizer;
  }

  async *sample(requests: readonly SampleRequest[], options: SampleOptions = {}): AsyncGenerator<Sample> {
    checkRequests(requests, this.#limits);
    options.signal?.throwIfAborted();
    if (requests.length === 0) return;
    const { maxLength, vocabularySize } = this.#limits;
    let sampled: SampledToken[] = [];
    const completions = requests.map(
      (request, index) =>
        new Completion({
          request,
          index,
          tokenizer: this.#tokenizer,
          maxLength,
          onToken: (token) => sampled.push(token),
        }),
    );
    const finished: Sample[] = [];
    const done = new Set<number>();
    let wake: () => void = () => undefined;
    let count = 0;
    let ended = false;
    let callId = 0;
    const drop = (indices: readonly number[]): void => {
      if (indices.length > 0) this.#worker.notify("drop", { of: callId, requests: indices });
    };
    const receive = (arrays: FrameArrays): void => {
      const stopped: number[] = [];
      for (const { index, choice, value } of stepOf(arrays)) {
        if (done.has(index)) continue;
        const sample = completions[index]!.take(choice, { value, vocabularySize });
        if (sample === undefined) continue;
        finished.push(sample);
        done.add(index);
        // The worker does not know stop sequences. Its own ends need no message.
        if (sample.stopString !== undefined) stopped.push(index);
      }
      drop(stopped);
      count += sampled.length;
      if (sampled.length > 0) options.onSampled?.(sampled);
      if (sampled.length > 0) options.onTokens?.(count);
      sampled = [];
      wake();
    };
    const abort = (): void => this.#worker.notify("abort", { of: callId });
    let failure: { readonly error: unknown } | undefined;
    const onItem = (arrays: FrameArrays): void => {
      try {
        if (failure === undefined) receive(arrays);
      } catch (error) {
        // The caller's own functions may throw. The worker goes on for other calls.
        failure = { error };
        abort();
      }
    };
    const described = requests.map((request) => describe(request, maxLength));
    const prompts = Int32Array.from(requests.flatMap(({ promptIds }) => promptIds));
    const call = this.#worker
      .call(
        "sample",
        { sampler: this.#id, requests: described, shared: options.shared === true },
        { arrays: { prompts }, onItem, onId: (id) => (callId = id) },
      )
      .finally(() => {
        ended = true;
        wake();
      });
    call.catch(() => undefined);
    options.signal?.addEventListener("abort", abort, { once: true });
    const stopDropping = dropAborted(options.signals ?? [], (indices) => {
      for (const index of indices) done.add(index);
      drop(indices);
    });
    try {
      while (true) {
        while (finished.length > 0) yield finished.shift()!;
        if (ended) break;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      await call.catch((error: unknown) => {
        throw failure?.error ?? (options.signal?.aborted === true ? options.signal.reason : error);
      });
      if (failure !== undefined) throw failure.error;
    } finally {
      stopDropping();
      options.signal?.removeEventListener("abort", abort);
      // If the consumer stops early, the worker stops too.
      if (!ended) abort();
    }
  }

  async score(request: ScoreRequest, { signal }: Pick<SampleOptions, "signal"> = {}): Promise<TokenScores> {
    checkScore(request, this.#limits);
    signal?.throwIfAborted();
    const { ids, last = ids.length - 1, topK = 0, targets = [] } = request;
    const targetCounts = targets.map(({ length }) => length);
    const arrays = { ids: Int32Array.from(ids), targets: Int32Array.from(targets.flatMap((each) => [...each])) };
    const { arrays: found } = await this.#worker.call(
      "score",
      { sampler: this.#id, last, topK, targetCounts },
      { arrays },
    );
    const all = found.targetLogprobs as Float32Array;
    const ends = targetCounts.map((_, i) => sum(targetCounts.slice(0, i + 1)));
    return {
      logprobs: found.logprobs as Float32Array,
      topIds: found.topIds as Int32Array,
      topLogprobs: found.topLogprobs as Float32Array,
      targetLogprobs: ends.map((end, i) => all.slice(end - targetCounts[i]!, end)),
    };
  }

  async close(): Promise<void> {
    if (this.#closed || this.#worker.ended) return;
    this.#closed = true;
    await this.#worker.call("closeSampler", { sampler: this.#id });
  }
}

function describe(request: SampleRequest, maxLength: number) {
  const { promptIds, settings, seed, stopTokenIds, topLogprobs = 0 } = request;
  const { temperature, maxTokens, topK = 0, topP = 1, minP = 0 } = settings;
  return {
    length: promptIds.length,
    temperature,
    topK,
    topP,
    minP,
    maxTokens: Math.min(maxTokens, maxLength - promptIds.length),
    seed,
    stopTokenIds,
    topLogprobs,
    supports: settings.supports === true && isTruncated(settings),
  };
}

/** What a frame says of each of its requests. */
function* stepOf(arrays: FrameArrays): Generator<{
  readonly index: number;
  /** Undefined if only the value of the last state is reported. */
  readonly choice: SampledChoice | undefined;
  readonly value: number | undefined;
}> {
  const { requests, tokens, logprobs, values, keptCounts, kept, topCounts, topIds, topLogprobs } = arrays;
  let keptStart = 0;
  let topStart = 0;
  for (const [i, index] of requests!.entries()) {
    const keptCount = keptCounts?.[i] ?? -1;
    const topCount = topCounts?.[i] ?? 0;
    const keptIds = keptCount < 0 ? undefined : Uint32Array.from(kept!.subarray(keptStart, keptStart + keptCount));
    const top = Array.from(
      { length: topCount },
      (_, n) => [topIds![topStart + n]!, topLogprobs![topStart + n]!] as const,
    );
    keptStart += Math.max(0, keptCount);
    topStart += topCount;
    const choice = {
      id: tokens![i]!,
      logprob: logprobs![i]!,
      ...(keptIds === undefined ? {} : { kept: keptIds }),
      top,
    };
    yield { index, choice: choice.id === -1 ? undefined : choice, value: values?.[i] };
  }
}

/** Calls `drop` with the requests of each signal that aborts. Returns a function that ends this. */
function dropAborted(signals: readonly AbortSignal[], drop: (indices: readonly number[]) => void): () => void {
  const groups = [...Map.groupBy(signals.keys(), (index) => signals[index]!)];
  const listeners = groups.map(([signal, indices]) => {
    const listener = (): void => drop(indices);
    if (signal.aborted) listener();
    signal.addEventListener("abort", listener, { once: true });
    return { signal, listener };
  });
  return () => {
    for (const { signal, listener } of listeners) signal.removeEventListener("abort", listener);
  };
}
