import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ExecuteResult } from "../../sandbox/execution.ts";
import { createIsolatedVmSandbox } from "../../sandbox/isolated-vm/isolated-vm-sandbox.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { sandboxConformance } from "../../sandbox/testing/index.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { SampledToken, SampleOptions, SampleRequest, ScoreRequest } from "../../src/contract/sampler.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { generatedTaskset } from "../../src/core/taskset/generated-taskset.ts";
import { jsonlTaskset } from "../../src/core/taskset/jsonl-taskset.ts";
import { mapTaskset } from "../../src/core/taskset/map-taskset.ts";
import { memoryTaskset } from "../../src/core/taskset/memory-taskset.ts";
import { createByteRenderer } from "../../src/core/tokens/byte-renderer.ts";
import { createByteTokenizer } from "../../src/core/tokens/byte-tokenizer.ts";
import { loadTokenizer } from "../../src/core/tokens/huggingface-tokenizer.ts";
import { createTextRenderer } from "../../src/core/tokens/text-renderer.ts";
import {
  type ConformanceCase,
  policyConformance,
  rendererConformance,
  samplerConformance,
  tasksetConformance,
  tokenizerConformance,
} from "../../src/entry-points/testing.ts";
import { grpo } from "../../trainers/algorithms/index.ts";
import type { Model, TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { algorithmConformance, backendConformance } from "../../trainers/testing/index.ts";
import { actRequest } from "../core/policy/act-request.ts";
import { characterRenderer } from "../core/rollout/character-renderer.ts";
import { byteLevelBpe, temporaryFolder } from "../core/tokens/model-folder.ts";
import { createBigramBackend } from "../trainers/bigram-backend.ts";
import { letterEnvironment } from "../trainers/letter-environment.ts";
import { letterConfig } from "../trainers/run-training.ts";
import { describeCases } from "./describe-cases.ts";

const words = memoryTaskset("words", ["hello", "world"]);

describeCases(
  "a taskset in memory",
  tasksetConformance(() => words),
);
describeCases(
  "a mapped taskset",
  tasksetConformance(() => mapTaskset(words, (text) => ({ text }))),
);
describeCases(
  "a generated taskset",
  tasksetConformance(() =>
    generatedTaskset({ name: "n", seed: 1, length: "unbounded", generate: (random) => random.next() }),
  ),
);
describeCases(
  "a taskset of a file",
  tasksetConformance(async () => {
    const folder = await mkdtempDisposable(join(tmpdir(), "lyceum-taskset-"));
    const path = join(folder.path, "tasks.jsonl");
    await writeFile(path, '{"a": 1}\n{"a": 2}\n');
    const taskset = await jsonlTaskset(path);
    return { ...taskset, [Symbol.asyncDispose]: () => folder.remove() };
  }),
);

describeCases(
  "the tokenizer of bytes",
  tokenizerConformance(() => createByteTokenizer()),
);
describeCases(
  "a tokenizer of a file",
  tokenizerConformance(async () => {
    await using folder = await temporaryFolder({ "tokenizer.json": byteLevelBpe({ specialTokens: ["<|im_end|>"] }) });
    return await loadTokenizer(folder.path);
  }),
);

describeCases(
  "the renderer of bytes",
  rendererConformance(() => createByteRenderer()),
);
describeCases(
  "the renderer of characters",
  rendererConformance(() => characterRenderer()),
);
describeCases(
  "the renderer of plain text",
  rendererConformance(() => createTextRenderer(createByteTokenizer())),
);

const bigramSampler = async () => {
  const backend = createBigramBackend();
  const model = await backend.openModel({
    source: { type: "scratch", config: {}, seed: 1 },
    trainable: { type: "full" },
  });
  return {
    sampler: await model.snapshot(),
    promptIds: model.tokenizer.encode("2 + 2"),
    stopTokenIds: model.renderer.stopTokenIds,
    vocabularySize: model.tokenizer.vocabularySize,
  };
};
describeCases("the sampler of the bigram backend", samplerConformance(bigramSampler));

/** Returns the names of the cases that a subject fails. */
async function failures(cases: readonly ConformanceCase[]): Promise<string[]> {
  const failed: string[] = [];
  for (const { name, run } of cases) {
    await run().catch(() => failed.push(name));
  }
  return failed;
}

test("each requirement of a taskset finds its fault", async () => {
  const faulty = (change: object): Promise<string[]> => failures(tasksetConformance(() => ({ ...words, ...change })));
  expect(await faulty({ name: "" })).toEqual(["has a name, a version and a length"]);
  expect(await faulty({ get: async () => words.get(0) })).toContain(
    "returns each task with its index, an id of its own and the hash of its content",
  );
  let reads = 0;
  const changing = { get: async (index: number) => ({ ...(await words.get(index)), id: String(reads++) }) };
  expect(await faulty(changing)).toEqual(["returns the same task again, in any order"]);
  const endless = { get: (index: number) => words.get(Math.abs(Math.trunc(index)) % 2) };
  expect(await faulty(endless)).toEqual(["throws data.out-of-range beyond its tasks"]);
});

test("each requirement of a tokenizer finds its fault", async () => {
  const tokenizer = createByteTokenizer();
  const faulty = (change: object): Promise<string[]> =>
    failures(tokenizerConformance(() => ({ ...tokenizer, ...change })));
  expect(await faulty({ decode: (ids: readonly number[]) => tokenizer.decode(ids).trim().replace("  ", " ") })).toEqual(
    ["decodes the ids of a text to the same text"],
  );
  expect(await faulty({ vocabularySize: 100 })).toEqual(["encodes to ids below the vocabulary size"]);
  expect(await faulty({ encode: (text: string) => [...tokenizer.encode(text), 256] })).toContain(
    "adds no special token",
  );
  expect(await faulty({ tokenId: () => 1 })).toContain(
    "recognizes special tokens in a text, and has the ids of those that it names",
  );
  const encodeMarked: typeof tokenizer.encodeMarked = (text, marks) => tokenizer.encode(marks.unmark(text));
  expect(await faulty({ encodeMarked })).toEqual(["does not recognize control tokens that are marked as content"]);
});

test("each requirement of a renderer finds its fault", async () => {
  const renderer = createByteRenderer();
  const faulty = (change: object): Promise<string[]> =>
    failures(rendererConformance(() => ({ ...renderer, ...change })));
  expect(await faulty({ accepts: [] })).toEqual(["has a name, a version, a part type and token ids that end a turn"]);
  let renders = 0;
  expect(await faulty({ start: () => [renders++] })).toContain(
    "renders equal conversations to equal ids, and different ones to different ids",
  );
  const parse = () => renderer.parse({ ids: [], finish: "stop" });
  expect(await faulty({ parse })).toEqual([
    "completes a message with ids that end the turn and are parsed to the same text",
    "parses a truncated completion to its text",
  ]);
  const extend = (options: Parameters<typeof renderer.extend>[0]) =>
    (renderer.extend(options) as readonly number[]).slice(1);
  expect(await faulty({ extend })).toContain("extends a conversation to what it renders as a whole");
  const always = ({ ids, ...rest }: Parameters<typeof renderer.extend>[0]) =>
    renderer.extend({ ...rest, ids: ids.append(renderer.stopTokenIds.slice(0, 1)) });
  expect(await faulty({ extend: always })).toContain("adds a missing end of the turn when it extends");
});

test("each requirement of a sampler finds its fault", async () => {
  const faulty = async (change: object): Promise<string[]> =>
    failures(
      samplerConformance(async () => {
        const subject = await bigramSampler();
        const { specificationVersion, version } = subject.sampler;
        const sample = subject.sampler.sample.bind(subject.sampler);
        return { ...subject, sampler: { specificationVersion, version, sample, close: async () => {}, ...change } };
      }),
    );
  expect(await faulty({})).toEqual([]);
  expect(await faulty({ version: 0.5 })).toEqual(["has a specification version and a version of its weights"]);
  const reporting = (change: (tokens: SampledToken[]) => SampledToken[], isLate = false) =>
    async function* (requests: readonly SampleRequest[], { signal, onSampled }: SampleOptions = {}) {
      for await (const given of (await bigramSampler()).sampler.sample(
        requests,
        signal === undefined ? {} : { signal },
      )) {
        const tokens = given.ids.map((id, i) => ({ request: given.request, id, logprob: given.logprobs[i]! }));
        if (!isLate) onSampled?.(change(tokens));
        yield given;
        if (isLate) onSampled?.(change(tokens));
      }
    };
  const reports = ["reports the tokens of its samples before them, if it reports tokens"];
  expect(await faulty({ sample: reporting((tokens) => tokens) })).toEqual([]);
  expect(await faulty({ sample: reporting((tokens) => tokens, true) })).toEqual(reports);
  expect(await faulty({ sample: reporting((tokens) => tokens.slice(1)) })).toEqual(reports);
  const shifted = (tokens: SampledToken[]) => tokens.map((token) => ({ ...token, logprob: token.logprob - 1 }));
  expect(await faulty({ sample: reporting(shifted) })).toEqual(reports);
  /** Reports three tokens with each one, the sampled one first. */
  const topping = (change: (top: [number, number][], place: number) => [number, number][], inTokens = true) =>
    async function* (requests: readonly SampleRequest[], { signal, onSampled }: SampleOptions = {}) {
      const { sampler, vocabularySize } = await bigramSampler();
      for await (const given of sampler.sample(requests, signal === undefined ? {} : { signal })) {
        const { request, ids, logprobs } = given;
        const topLogprobs = ids.map((id, i) => {
          const pair = (k: number): [number, number] => [(id + k) % vocabularySize, logprobs[i]! - k];
          return change([0, 1, 2].map(pair), i);
        });
        const asked = (requests[request]!.topLogprobs ?? 0) > 0;
        onSampled?.(
          ids.map((id, i) => ({
            ...{ request, id, logprob: logprobs[i]! },
            ...(asked && inTokens ? { topLogprobs: topLogprobs[i]! } : {}),
          })),
        );
        yield asked ? { ...given, topLogprobs } : given;
      }
    };
  const tops = ["reports the most likely tokens of its samples, if it reports any"];
  expect(await faulty({ sample: topping((top) => top) })).toEqual([]);
  expect(await faulty({ sample: topping((top) => top, false) })).toEqual(tops);
  expect(await faulty({ sample: topping((top) => top.toReversed()) })).toEqual(tops);
  expect(await faulty({ sample: topping((top) => top.slice(1)) })).toEqual(tops);
  expect(await faulty({ sample: topping(([first]) => [first!, first!, first!]) })).toEqual(tops);
  expect(await faulty({ sample: topping((top) => top.map(([id, value]) => [id, value - 1])) })).toEqual(tops);
  expect(await faulty({ sample: topping(([, second, third]) => [second!, third!, [0.5, -9]]) })).toEqual(tops);
  expect(await faulty({ sample: topping((top) => top.map(([id, value]) => [id + 1, value - 1])) })).toEqual(tops);
  const score = async ({ last, topK }: ScoreRequest) => ({ topLogprobs: new Float32Array(last! * topK!) });
  expect(await faulty({ sample: topping((top) => top), score })).toEqual(tops);
  const others = async function* (requests: readonly SampleRequest[], options: SampleOptions = {}) {
    const changed = requests.map((each) => ({ ...each, seed: each.seed + (each.topLogprobs ?? 0) }));
    yield* (await bigramSampler()).sampler.sample(changed, options);
  };
  expect(await faulty({ sample: others })).toEqual(tops);
  const stopping = async function* (requests: readonly SampleRequest[], options: SampleOptions = {}) {
    if (options.signals?.some(({ aborted }) => aborted)) return;
    yield* (await bigramSampler()).sampler.sample(requests, options);
  };
  expect(await faulty({ sample: stopping })).toEqual(["samples the other requests if one is aborted"]);
  const mixing = (option: "shared" | "reuse") =>
    async function* (requests: readonly SampleRequest[], options: SampleOptions = {}) {
      const mixed = requests.map((request) => ({
        ...request,
        seed: request.seed + (options[option] === true ? 1 : 0),
      }));
      yield* (await bigramSampler()).sampler.sample(mixed, options);
    };
  const shared = "gives shared calls that run at the same time the samples of each alone";
  expect(await faulty({ sample: mixing("shared") })).toEqual([shared]);
  const reusing = "samples the same with reuse of what it has read, except for rounding";
  expect(await faulty({ sample: mixing("reuse") })).toEqual([reusing]);
  let samples = 0;
  const random = async function* () {
    yield { request: 0, ids: [samples++], logprobs: [0], finish: "length" };
  };
  expect(await faulty({ sample: random })).toEqual([
    "yields one sample for each request, within its limits",
    "returns equal samples for equal requests",
    "reports the most likely tokens of its samples, if it reports any",
    "samples the other requests if one is aborted",
    shared,
    reusing,
    "yields nothing without requests",
    "does not sample after an abort",
  ]);
});

test("each requirement of a policy finds its fault", async () => {
  const policy = scriptedPolicy(["4"]);
  const faulty = (change: object): Promise<string[]> =>
    failures(policyConformance(() => ({ policy: { ...policy, ...change }, request: actRequest() })));
  expect(await faulty({ name: "" })).toEqual(["has a name, a version and a part type that it can read"]);
  const { action } = await policy.act(actRequest());
  let answers = 0;
  const varied = async () => ({ action: { ...action, finish: answers++ === 1 ? "length" : "stop" } });
  expect(await faulty({ act: varied })).toEqual([
    "answers as an assistant, always the same, also for concurrent requests",
    "rejects a request that is already aborted, with the reason",
  ]);
  const listens = async (request: ReturnType<typeof actRequest>) => {
    request.signal?.throwIfAborted();
    request.signal?.addEventListener("abort", () => {});
    return { action };
  };
  expect(await faulty({ act: listens })).toEqual(["removes its signal listener after it has answered"]);
  const changes = async (request: { seed: number }) => {
    request.seed += 1;
    return policy.act(request as never);
  };
  expect(await faulty({ act: changes })).toEqual(["does not change the request"]);
  const strays = async (request: never) => {
    void Promise.reject(new Error("stray"));
    return policy.act(request);
  };
  expect((await faulty({ act: strays })).length).toBeGreaterThan(0);
});

test("the sandbox suite finds values, states and errors that differ", async () => {
  await using sandbox = await createIsolatedVmSandbox({ workers: 2 });
  const faulty = (change: (result: ExecuteResult) => ExecuteResult): Promise<string[]> => {
    const changed: Sandbox = {
      specificationVersion: "v1",
      info: sandbox.info,
      execute: async (request) => change(await sandbox.execute(request)),
      warmUp: () => sandbox.warmUp(),
      stats: () => sandbox.stats(),
      [Symbol.asyncDispose]: async () => {},
    };
    const open = () => createIsolatedVmSandbox({ workers: 1 });
    const cases = sandboxConformance({ sandbox: () => changed, open, languages: ["javascript"] });
    // The sandbox's own test runs all of them.
    return failures(cases.filter(({ name }) => [inOrder, seeded].includes(name)));
  };
  const inOrder = "javascript: calls a function once per case, in order";
  const seeded = "javascript: gives the same result for the same seed";
  expect(await faulty((result) => result)).toEqual([]);
  const reversed = await faulty((result) => ({ ...result, cases: result.cases.toReversed() }));
  expect(reversed).toContain(inOrder);
  const unseeded = await faulty(({ cases, ...result }) => ({
    ...result,
    cases: cases.map((one) => ({ ...one, value: { list: [1, 2, 3].map(() => ({ float: String(Math.random()) })) } })),
  }));
  expect(unseeded).toContain(seeded);
});

test("the algorithm suite refuses an algorithm that does not learn", async () => {
  const cases = algorithmConformance({
    algorithm: grpo,
    config: letterConfig({ evaluation: { split: "test", temperature: 1 }, training: { steps: 3, learningRate: 1e-9 } }),
    environment: () => letterEnvironment() as EnvironmentDefinition,
    backend: createBigramBackend,
    margin: 0.1,
  });
  expect(await failures(cases)).toEqual(["learns"]);
});

test("the backend suite finds gradients that differ from the reference", async () => {
  const create = (): TrainingBackend => {
    const backend = createBigramBackend();
    const openModel: TrainingBackend["openModel"] = async (spec, options) => {
      const model = await backend.openModel(spec, options);
      const forwardBackward: Model["forwardBackward"] = async (...pass) => {
        const result = await model.forwardBackward(...pass);
        return { ...result, loss: 1.01 * result.loss };
      };
      return new Proxy(model, {
        get: (target, key) => {
          if (key === "forwardBackward") return forwardBackward;
          const value = Reflect.get(target, key, target) as unknown;
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    };
    return Object.assign(Object.create(backend) as TrainingBackend, { openModel });
  };
  const source = { type: "scratch", config: {}, seed: 0 } as const;
  const cases = backendConformance({
    backend: create,
    create,
    specs: { full: { source, trainable: { type: "full" } } },
    tolerance: 1e-6,
  });
  expect(await failures(cases)).toContain("full: computes the reference formula of every loss term that it supports");
});
