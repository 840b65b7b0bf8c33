import { LyceumError } from "../../contract/errors/index.ts";
import type { ToolSpec } from "../../contract/message.ts";
import type { ActRequest, ActResult, Policy } from "../../contract/policy.ts";
import type { Sample, Sampler, SamplingSettings } from "../../contract/sampler.ts";
import { checkVersion } from "../../contract/specification-version.ts";
import type { Renderer } from "../tokens/renderer.ts";
import { fitCompletion } from "./context-limit.ts";
import { type RenderedPrompt, renderPrompt, requestRenderer } from "./render-prompt.ts";

/** A request that waits for its batch or its sample. */
interface Pending {
  readonly request: ActRequest;
  readonly rendered: RenderedPrompt;
  readonly settings: SamplingSettings;
  readonly resolve: (result: ActResult) => void;
  readonly reject: (error: unknown) => void;
  done: boolean;
}

/**
 * Creates the policy of a model with access to its tokens. It renders conversations to prompts and samples them in
 * batches. Requests with an `order` wait until `flush` and are sampled in that order. Other requests are collected
 * until the next turn of the event loop. Each batch calls `sampler` for the weights to use, and its results contain
 * their version.
 *
 * An aborted request does not stop the rest of its batch. A prompt longer than `maxLength` rejects with
 * `policy.prompt-too-long`. A prompt near it gets a shorter completion.
 */
export function samplerPolicy(options: {
  readonly name: string;
  readonly sampler: () => Sampler;
  readonly renderer: Renderer;
  /** The maximum number of tokens of prompt and completion together. Default: no limit. */
  readonly maxLength?: number;
  /** Called with the number of newly sampled tokens, also for unfinished completions if the sampler reports them. */
  readonly onTokens?: (count: number) => void;
}): Policy {
  const { name, sampler, renderer, maxLength = Infinity, onTokens = () => undefined } = options;
  checkVersion(`Renderer "${renderer.name}"`, renderer);
  let ordered: Pending[] = [];
  let unordered: Pending[] = [];
  const runUnordered = (): void => {
    const batch = unordered;
    unordered = [];
    run(batch);
  };
  const run = (batch: readonly Pending[]): void => {
    const waiting = batch.filter(({ done }) => !done);
    if (waiting.length > 0) void sampleBatch({ name, batch: waiting, sampler, renderer, onTokens });
  };
  return {
    specificationVersion: "v1",
    name,
    accepts: renderer.accepts,
    act: async (request) => {
      request.signal?.throwIfAborted();
      const rendered = renderPrompt(renderer, request);
      const settings = fitCompletion({ request, promptLength: rendered.prompt.length, maxLength });
      return new Promise((resolve, reject) => {
        const pending = watch({ request, rendered, settings, resolve, reject });
        if (request.order !== undefined) ordered.push(pending);
        else if (unordered.push(pending) === 1) setImmediate(runUnordered);
      });
    },
    flush: () => {
      const batch = ordered;
      ordered = [];
      run(batch.sort((first, second) => compareOrder(first.request.order!, second.request.order!)));
    },
  };
}

/**
 * Wraps a request so that it is rejected as soon as its signal aborts. Removes the listener when the request is done.
 */
function watch(options: Omit<Pending, "done">): Pending {
  const { signal } = options.request;
  const onAbort = (): void => pending.reject(signal!.reason);
  const finish = (): void => {
    pending.done = true;
    signal?.removeEventListener("abort", onAbort);
  };
  const pending: Pending = {
    ...options,
    resolve: (result) => {
      finish();
      options.resolve(result);
    },
    reject: (error) => {
      finish();
      options.reject(error);
    },
    done: false,
  };
  signal?.addEventListener("abort", onAbort, { once: true });
  return pending;
}

/** Samples one batch and answers its requests. Never rejects: an error goes to the requests without a sample. */
async function sampleBatch(options: {
  readonly name: string;
  readonly batch: readonly Pending[];
  readonly sampler: () => Sampler;
  readonly renderer: Renderer;
  readonly onTokens: (count: number) => void;
}): Promise<void> {
  const { batch, renderer } = options;
  let counted = 0;
  let finished = 0;
  const countTo = (tokens: number): void => {
    if (tokens <= counted) return;
    options.onTokens(tokens - counted);
    counted = tokens;
  };
  const abandoned = new AbortController();
  const onAbort = (): void => {
    if (batch.every(({ done, request }) => done || request.signal?.aborted)) abandoned.abort();
  };
  for (const { request } of batch) request.signal?.addEventListener("abort", onAbort, { once: true });
  try {
    const sampler = options.sampler();
    checkVersion(`The sampler of policy "${options.name}"`, sampler);
    const requests = batch.map(({ request, rendered, settings }) => ({
      promptIds: rendered.prompt.toArray(),
      settings,
      seed: request.seed,
      stopTokenIds: renderer.stopTokenIds,
      ...(request.last ? { last: true } : {}),
    }));
    const weightsVersion = sampler.version;
    const sampling = { signal: abandoned.signal, onTokens: countTo, reuse: true };
    for await (const sample of sampler.sample(requests, sampling)) {
      finished += sample.ids.length;
      countTo(finished);
      const pending = batch[sample.request];
      if (pending === undefined || pending.done) continue;
      try {
        const { rendered, request } = pending;
        const own = requestRenderer(renderer, request);
        pending.resolve(actResult({ sample, rendered, tools: request.tools ?? [], weightsVersion, renderer: own }));
      } catch (error) {
        pending.reject(error);
      }
    }
    reject(batch, unanswered());
  } catch (error) {
    reject(batch, error);
  } finally {
    for (const { request } of batch) request.signal?.removeEventListener("abort", onAbort);
  }
}

function actResult(options: {
  readonly sample: Sample;
  readonly rendered: RenderedPrompt;
  readonly tools: readonly ToolSpec[];
  readonly weightsVersion: number;
  readonly renderer: Renderer;
}): ActResult {
  const { sample, rendered, tools, weightsVersion, renderer } = options;
  const { ids, logprobs, supports, values, finish, stopString, reusedTokens } = sample;
  return {
    action: renderer.parse({ ids, finish, tools, ...(stopString === undefined ? {} : { stopString }) }),
    tokens: {
      ...rendered.tokens,
      completionIds: ids,
      logprobs,
      ...(supports === undefined ? {} : { supports }),
      ...(values === undefined ? {} : { values }),
      weightsVersion,
    },
    usage: {
      promptTokens: rendered.prompt.length,
      completionTokens: ids.length,
      ...(reusedTokens === undefined ? {} : { cachedPromptTokens: reusedTokens }),
    },
  };
}

function reject(batch: readonly Pending[], error: unknown): void {
  for (const pending of batch) if (!pending.done) pending.reject(error);
}

function unanswered(): LyceumError {
  return new LyceumError({
    code: "policy.failed",
    message: "The sampler ended without a completion for this request.",
    hint: "A sampler must return one sample for each request of a batch.",
  });
}

function compareOrder(first: readonly number[], second: readonly number[]): number {
  for (let i = 0; i < Math.min(first.length, second.length); i++) {
    if (first[i] !== second[i]) return first[i]! - second[i]!;
  }
  return first.length - second.length;
}
