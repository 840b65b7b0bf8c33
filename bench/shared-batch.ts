import { setTimeout as pause } from "node:timers/promises";
import type { Sample, SampledToken, SampleRequest, Sampler } from "../src/contract/sampler.ts";
import { createRandom } from "../src/core/random/random.ts";
import { createOnnxBackend } from "../trainers/backends/onnx/index.ts";
import { batchedSampler } from "../trainers/tinker/service/batched-sampler.ts";
import type { Benchmark, BenchmarkResult } from "./benchmark.ts";
import { model135m } from "./model-135m.ts";

const clients = 16;
const turns = 3;
const repetitions = 3;

/**
 * Compares a server whose calls join the running batch with one whose calls wait for its end, both over the shape of
 * SmolLM2-135M: the time until a short answer while a long one runs, and 16 clients with conversations of three turns.
 * The baseline of a figure is that of the server whose calls wait.
 */
export const sharedBatch: Benchmark = { prefix: "shared-batch", run };

async function run(): Promise<BenchmarkResult[]> {
  await using backend = await createOnnxBackend({ device: "cpu", decodeBatchSize: clients });
  const model = await backend.openModel({ source: model135m, trainable: { type: "frozen" } });
  const sampler = await model.snapshot();
  const [joining, waiting] = [batchedSampler(sampler), oneBatchAfterAnother(sampler)];
  // Compiles the graphs of few and many rows.
  await converse(joining, 1);
  const found = { joining: [] as Outcome[], waiting: [] as Outcome[] };
  for (let repetition = 0; repetition < repetitions; repetition++) {
    for (const [name, server] of [["joining", joining] as const, ["waiting", waiting] as const]) {
      found[name].push({ shortMs: await shortDuringLong(server), ...(await converse(server, turns)) });
    }
  }
  // The best of each, because other work on the machine comes and goes.
  const least = (name: keyof typeof found, read: (outcome: Outcome) => number): number =>
    Math.min(...found[name].map(read));
  const figure = (read: (outcome: Outcome) => number) => {
    return { value: least("joining", read), baseline: least("waiting", read) };
  };
  const [short, answer, seconds] = [
    figure(({ shortMs }) => shortMs),
    figure(({ answerMs }) => answerMs),
    figure(({ secondsPerToken }) => secondsPerToken),
  ];
  return [
    { name: "shared-batch/short-answer-ms", unit: "ms", ...short },
    { name: "shared-batch/short-answer-ratio", value: short.baseline / short.value, unit: "times" },
    { name: "shared-batch/turn-ms", unit: "ms", ...answer },
    {
      name: "shared-batch/tokens-per-second",
      unit: "tokens/s",
      value: 1 / seconds.value,
      baseline: 1 / seconds.baseline,
    },
    { name: "shared-batch/tokens-ratio", value: seconds.baseline / seconds.value, unit: "times" },
  ];
}

/** What was measured of a server. */
interface Outcome {
  readonly shortMs: number;
  readonly answerMs: number;
  readonly secondsPerToken: number;
}

/** Returns the milliseconds until a call of 8 tokens ends that begins with the second token of a call of 128. */
async function shortDuringLong(sampler: Sampler): Promise<number> {
  const begun = Promise.withResolvers<void>();
  const onSampled = (): void => begun.resolve();
  const long = Array.fromAsync(sampler.sample([requestOf({ seed: 1, prompt: 64, maxTokens: 128 })], { onSampled }));
  await begun.promise;
  const start = performance.now();
  await Array.fromAsync(sampler.sample([requestOf({ seed: 2, prompt: 64, maxTokens: 8 })]));
  const elapsed = performance.now() - start;
  await long;
  return elapsed;
}

/**
 * Plays conversations of clients that begin within two seconds and pause up to half a second between turns. A turn's
 * prompt is the whole conversation and 16 new tokens. Answers have 8 to 200 tokens, 48 on average: most are short, and
 * a few are long.
 */
async function converse(sampler: Sampler, turns: number): Promise<Omit<Outcome, "shortMs">> {
  const start = performance.now();
  let [tokens, answerMs] = [0, 0];
  const play = async (client: number): Promise<void> => {
    const random = createRandom(client);
    let ids: readonly number[] = [];
    await pause(2000 * random.next());
    for (let turn = 0; turn < turns; turn++) {
      const maxTokens = Math.min(200, 8 + Math.round(-40 * Math.log(1 - random.next())));
      const request = requestOf({ seed: 100 * client + turn, prompt: 16, maxTokens });
      const promptIds = [...ids, ...request.promptIds];
      const asked = performance.now();
      const [sample] = await Array.fromAsync(sampler.sample([{ ...request, promptIds }]));
      answerMs += (performance.now() - asked) / (clients * turns);
      tokens += sample!.ids.length;
      ids = [...promptIds, ...sample!.ids];
      await pause(500 * random.next());
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => play(client)));
  return { secondsPerToken: (performance.now() - start) / 1000 / tokens, answerMs };
}

function requestOf(options: { readonly seed: number; readonly prompt: number; readonly maxTokens: number }) {
  const { seed, prompt, maxTokens } = options;
  const random = createRandom(seed);
  const promptIds = Array.from({ length: prompt }, () => random.integer(0, 49_151));
  return { promptIds, settings: { temperature: 1, maxTokens }, seed, stopTokenIds: [] } satisfies SampleRequest;
}

/** Calls that arrive during a batch are the next batch. */
function oneBatchAfterAnother(sampler: Sampler): Sampler {
  interface Call {
    readonly request: SampleRequest;
    readonly onSampled: ((tokens: readonly SampledToken[]) => void) | undefined;
    readonly sampled: PromiseWithResolvers<Sample>;
  }
  let waiting: Call[] = [];
  let running = false;
  const run = async (): Promise<void> => {
    running = true;
    while (waiting.length > 0) {
      await pause(2);
      const calls = waiting;
      waiting = [];
      const onSampled = (tokens: readonly SampledToken[]): void => {
        for (const token of tokens) calls[token.request]!.onSampled?.([token]);
      };
      const requests = calls.map(({ request }) => request);
      for await (const sample of sampler.sample(requests, { onSampled })) {
        calls[sample.request]!.sampled.resolve(sample);
      }
    }
    running = false;
  };
  return {
    specificationVersion: "v1",
    version: sampler.version,
    close: () => sampler.close(),
    sample: async function* ([request], { onSampled } = {}) {
      const sampled = Promise.withResolvers<Sample>();
      waiting.push({ request: request!, onSampled, sampled });
      if (!running) void run();
      yield await sampled.promise;
    },
  };
}
