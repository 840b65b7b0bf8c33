import type { z } from "zod";
import type { Sample, SampleOptions, SampleRequest, Sampler } from "../../../src/contract/sampler.ts";
import type { Tokenizer } from "../../../src/core/tokens/tokenizer.ts";
import { promiseSchema } from "../../tinker/protocol/answers.ts";
import { invalidBody } from "../../tinker/protocol/bytes.ts";
import { promptToJson } from "../../tinker/protocol/pass-request.ts";
import type * as requests from "../../tinker/protocol/requests.ts";
import type { ResultReader } from "../../tinker/protocol/result-reader.ts";
import {
  type SampleResult,
  sampleResultFromBytes,
  sampleResultFromJson,
  type TinkerSequence,
} from "../../tinker/protocol/sample-result.ts";
import { checkRequests } from "../shared/check-input.ts";
import { CompletionPoller } from "./completion-poller.ts";
import { unsupported } from "./tinker-error.ts";
import type { TinkerSession } from "./tinker-session.ts";

/** Samples from weights on a server. All requests are sent at once, and the server batches them. */
export class TinkerSampler implements Sampler {
  readonly specificationVersion = "v1";
  readonly version: number;
  readonly #session: TinkerSession;
  readonly #samplingSession: string;
  readonly #tokenizer: Tokenizer;
  readonly #limits: { readonly maxLength: number; readonly vocabularySize: number };
  readonly #check: () => void;
  readonly #onClose: () => void;
  /** Undefined for a server on which each sample polls for its result. */
  readonly #poller: CompletionPoller | undefined;
  #sequence = 0;
  #closed = false;

  constructor(options: {
    readonly session: TinkerSession;
    readonly samplingSession: string;
    readonly version: number;
    readonly tokenizer: Tokenizer;
    readonly limits: { readonly maxLength: number; readonly vocabularySize: number };
    /** Throws if the server can no longer sample from these weights. */
    readonly check: () => void;
    readonly onClose: () => void;
  }) {
    this.version = options.version;
    this.#session = options.session;
    this.#samplingSession = options.samplingSession;
    this.#tokenizer = options.tokenizer;
    this.#limits = options.limits;
    this.#check = options.check;
    this.#onClose = options.onClose;
    const { connection, batchesPolls } = options.session;
    this.#poller = batchesPolls ? new CompletionPoller(connection, options.samplingSession) : undefined;
  }

  async *sample(requests: readonly SampleRequest[], options: SampleOptions = {}): AsyncGenerator<Sample> {
    checkRequests(requests, this.#limits);
    for (const { settings } of requests) {
      if ((settings.minP ?? 0) > 0) throw noMinP();
    }
    this.#check();
    const stop = new AbortController();
    const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
    let tokens = 0;
    const pending = new Map(
      requests.map((request, index) => {
        const sampled = this.#session.sampling.run(() => this.#sampleOne(request, index, signal));
        sampled.catch(() => undefined);
        return [index, sampled] as const;
      }),
    );
    try {
      while (pending.size > 0) {
        const sample = await Promise.race(pending.values());
        pending.delete(sample.request);
        tokens += sample.ids.length;
        options.onTokens?.(tokens);
        yield sample;
      }
    } finally {
      stop.abort();
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#onClose();
  }

  async #sampleOne(request: SampleRequest, index: number, signal: AbortSignal): Promise<Sample> {
    signal.throwIfAborted();
    const { promptIds, settings, stopTokenIds, seed } = request;
    const { maxTokens, temperature, topK = 0, topP = 1 } = settings;
    const { connection } = this.#session;
    const body: z.input<typeof requests.sampleBody> = {
      sampling_session_id: this.#samplingSession,
      seq_id: this.#sequence++,
      num_samples: 1,
      prompt: promptToJson(promptIds),
      sampling_params: {
        max_tokens: Math.min(maxTokens, this.#limits.maxLength - promptIds.length),
        temperature,
        top_k: topK > 0 ? topK : -1,
        top_p: topP,
        seed: wireSeed(seed),
        // Stop strings are found here: servers take either ids or strings, and some leave out the tokens of a string.
        stop: [...stopTokenIds],
      },
    };
    const promise = await connection.post("asample", { ...body, type: "sample" }, promiseSchema, { signal });
    await this.#poller?.ended(promise.request_id, signal);
    const binary = this.#session.encoding === "protobuf";
    const reader = completionReader(body.sampling_params.max_tokens!);
    const completion = await connection.result(promise, reader, { what: "asample", binary, signal });
    this.#poller?.received(promise.request_id);
    const { tokens, logprobs, stopReason: finish } = completion;
    return cut(
      { request: index, ids: [...tokens], logprobs: [...logprobs!], finish },
      { stop: settings.stop, tokenizer: this.#tokenizer },
    );
  }
}

/** Reads the only completion of a result. Refuses one that is too long or has not one log-probability per token. */
function completionReader(maxTokens: number): ResultReader<TinkerSequence> {
  const checked = ({ sequences }: SampleResult): TinkerSequence => {
    const [sequence] = sequences;
    if (sequence === undefined || sequences.length > 1) throw invalidBody(`it has ${sequences.length} sequences`);
    const { tokens, logprobs } = sequence;
    if (tokens.length > maxTokens) throw invalidBody(`it has ${tokens.length} tokens, more than ${maxTokens}`);
    if (logprobs?.length === tokens.length) return sequence;
    throw invalidBody(`it has ${tokens.length} tokens and ${logprobs?.length ?? 0} log-probabilities`);
  };
  return {
    json: (value) => checked(sampleResultFromJson(value)),
    bytes: (bytes) => checked(sampleResultFromBytes(bytes)),
  };
}

/** Ends a sample at the token that completes its first stop string. */
function cut(
  sample: Sample,
  { stop = [], tokenizer }: { readonly stop: readonly string[] | undefined; readonly tokenizer: Tokenizer },
): Sample {
  if (stop.length === 0) return sample;
  for (let length = 1; length <= sample.ids.length; length++) {
    const text = tokenizer.decode(sample.ids.slice(0, length));
    const found = stop.filter((string) => text.includes(string));
    if (found.length === 0) continue;
    const stopString = found.toSorted((a, b) => text.indexOf(a) - text.indexOf(b))[0]!;
    const [ids, logprobs] = [sample.ids.slice(0, length), sample.logprobs.slice(0, length)];
    return { request: sample.request, ids, logprobs, finish: "stop", stopString };
  }
  return sample;
}

/** Servers take seeds of 31 bits. */
export function wireSeed(seed: number): number {
  return Math.abs(Math.trunc(seed)) % 2 ** 31;
}

function noMinP(): Error {
  return unsupported("The Tinker API has no min-p.", "Remove sampling.minP, or use topP.");
}
