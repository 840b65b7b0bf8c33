import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { algorithms } from "../../../trainers/algorithms/index.ts";
import type { TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { createTinkerBackend } from "../../../trainers/backends/tinker/index.ts";
import { wireSeed } from "../../../trainers/backends/tinker/tinker-sampler.ts";
import type { TrainingConfigInput } from "../../../trainers/config/training-config.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { sampleOf } from "../../tier.ts";
import { catalogue } from "../../trainers/catalogue.ts";
import { changedBackend } from "../../trainers/changed-backend.ts";
import { letterEnvironment } from "../../trainers/letter-environment.ts";
import { eventsOf, runEnd, runTraining } from "../../trainers/run-training.ts";
import { teamEnvironment } from "../../trainers/team-environment.ts";
import { type ServedModel, servedModel } from "./served-model.ts";
import type { TinkerServer } from "./tinker-server.ts";

let served: ServedModel;
let server: TinkerServer;
beforeAll(async () => {
  served = await servedModel();
  server = await served.serve();
});
afterAll(() => served[Symbol.asyncDispose]());

function connect(): Promise<TrainingBackend> {
  return createTinkerBackend({ url: server.url, gradients: "sum", times: { delayMs: 1 } });
}

function configOf(changes: Partial<TrainingConfigInput>): TrainingConfigInput {
  return {
    algorithm: { id: "grpo", groupSize: 4 },
    model: { path: served.source.path, chatTemplate: "none", adapter: { type: "lora", rank: 4 } },
    sampling: { maxTokens: 4 },
    probe: { groups: 0 },
    ...changes,
    training: { steps: 2, batchSize: 2, learningRate: 0.01, ...changes.training },
  };
}

/** The algorithms that need a critic or the entropy, which the API does not have. */
const refused: Readonly<Record<string, RegExp>> = {
  ppo: /critic|entropy|value/,
  ippo: /critic|entropy|value/,
  iac: /critic|entropy|value/,
  maac: /critic|entropy|value/,
};

describe("each algorithm of the catalogue", () => {
  const ids = new Set(algorithms.list().map(({ id }) => id));
  const cases = catalogue.map((each) => ({ ...each, name: each.form ?? each.id }));

  it("is covered", () => {
    expect(new Set(cases.map(({ id }) => id))).toEqual(ids);
  });

  it.each(sampleOf(cases, 6))("$name trains, or the error names what to do", async ({
    id,
    settings = {},
    environment,
  }) => {
    const { entropyWeight: _, ...rest } = settings;
    const output = temporaryFolder();
    await using backend = await connect();
    // Judges of a random model give equal rewards. A tie has no gradient.
    const config = configOf({ algorithm: { id, ...rest }, training: { steps: 1, batchSize: 2, learningRate: 0.01 } });
    const run = await runTraining({ output, config, environment: environment(), backend });
    const reason = refused[id];
    if (reason === undefined) {
      expect(run.error).toBeUndefined();
      expect(runEnd(run)).toMatchObject({ reason: "completed", step: 1 });
      return;
    }
    expect(run.error).toMatchObject({ code: "backend.unsupported", message: expect.stringMatching(reason) });
    expect((run.error as { hint: string }).hint).toMatch(/grpo|rloo|entropyWeight/);
  });
});

/** Enough steps to show a gradient that is wrong or counts twice. */
const equal: Readonly<Record<string, Partial<TrainingConfigInput>>> = {
  sft: { algorithm: { id: "sft" } },
  grpo: { algorithm: { id: "grpo", groupSize: 4 } },
  "the clipped loss of PPO, over two epochs": {
    algorithm: { id: "grpo", groupSize: 4, epochs: 2, minibatches: 2, clipLow: 0.05, clipHigh: 0.05 },
  },
  "two agents": { algorithm: { id: "magrpo", groupSize: 4 } },
};

/** The embedded engine with the seeds that servers take, and one request at a time, as the server samples. */
function likeServer(engine: TrainingBackend): TrainingBackend {
  const changed = changedBackend(
    (model) => ({
      snapshot: async () => {
        const sampler = await model.snapshot();
        return {
          specificationVersion: "v1",
          version: sampler.version,
          close: () => sampler.close(),
          sample: async function* (requests, options) {
            for (const [request, each] of requests.entries()) {
              const [sample] = await Array.fromAsync(sampler.sample([{ ...each, seed: wireSeed(each.seed) }], options));
              yield { ...sample!, request };
            }
          },
        };
      },
    }),
    engine,
  );
  return {
    ...changed,
    openModel: (spec, options) => {
      const { trainable } = spec;
      if (trainable.type !== "lora") return changed.openModel(spec, options);
      const lora = { ...trainable.lora, seed: wireSeed(trainable.lora.seed ?? 0) };
      return changed.openModel({ ...spec, trainable: { type: "lora", lora } }, options);
    },
  };
}

it.each(Object.entries(equal))("trains as on the embedded engine: %s", async (name, changes) => {
  const environment = name === "two agents" ? teamEnvironment({ turns: 1, partial: 0.5 }) : letterEnvironment();
  const config = configOf({ ...changes, preflight: false, training: { steps: 3, batchSize: 4, learningRate: 0.02 } });
  const metricsOf = async (backend: TrainingBackend) => {
    const run = await runTraining({ output: temporaryFolder(), config, environment, backend });
    expect(run.error).toBeUndefined();
    return eventsOf(run, "step").map(({ metrics }) => metrics);
  };
  await using remote = await connect();
  const [local, found] = [await metricsOf(likeServer(served.engine)), await metricsOf(remote)];
  expect(found).toHaveLength(3);
  expect(local.filter((metrics) => metrics["loss/total"] !== undefined).length).toBeGreaterThan(1);
  for (const [step, metrics] of local.entries()) {
    const names = Object.keys(metrics).filter((metric) => /^(loss|reward|grad)/.test(metric));
    for (const metric of names) expect(found[step]![metric], `${metric}, ${step}`).toBeCloseTo(metrics[metric]!, 3);
  }
});

it("passes the preflight, which saves, updates and loads the model on the server", async () => {
  await using backend = await connect();
  const config = configOf({ training: { steps: 1, batchSize: 2 } });
  const run = await runTraining({ output: temporaryFolder(), config, backend });
  expect(run.error).toBeUndefined();
  const checks = eventsOf(run, "preflight").flatMap((event) => event.checks);
  expect(checks.length).toBeGreaterThan(3);
  expect(checks.filter(({ status }) => status !== "passed")).toEqual([]);
});

it("resumes a run with the weights and moments on the server", async () => {
  const losses = async (config: TrainingConfigInput, output: string, resume = false) => {
    await using backend = await connect();
    const run = await runTraining({ output, config, resume, backend });
    expect(run.error).toBeUndefined();
    return eventsOf(run, "step").map(({ metrics }) => metrics["loss/total"]);
  };
  const config = (steps: number) => configOf({ algorithm: { id: "sft" }, training: { steps, batchSize: 4 } });
  const [once, twice] = [temporaryFolder(), temporaryFolder()];
  const whole = await losses(config(4), once);
  const first = await losses(config(2), twice);
  const second = await losses(config(4), twice, true);
  expect([...first, ...second]).toEqual(whole);
  const state = JSON.parse(await readFile(join(twice, "checkpoints/step-000004/model/tinker.json"), "utf8"));
  expect(state).toMatchObject({ rank: 4, version: 4, path: expect.stringMatching(/^tinker:\/\//) });
});

it("ends with the way to resume if the server goes away, and resumes when it is back", async () => {
  const output = temporaryFolder();
  const judged = letterEnvironment({ judge: () => Math.random() });
  const config = configOf({ training: { steps: 4, batchSize: 2 }, checkpoint: { every: 1 } });
  const times = { delayMs: 1, retryForMs: 100 };
  {
    await using backend = await createTinkerBackend({ url: server.url, gradients: "sum", times });
    const run = await runTraining({
      ...{ output, config, environment: judged, backend },
      onEvent: (event) => {
        if (event.type !== "checkpoint" || event.step !== 2) return;
        server.fault = { before: (_route, request) => request.socket.destroy().destroyed };
      },
    });
    expect(run.error).toMatchObject({ code: "backend.unavailable", hint: expect.stringContaining("--resume") });
    server.fault = {};
  }
  await using backend = await connect();
  const run = await runTraining({ output, config, environment: judged, backend, resume: true });
  expect(run.error).toBeUndefined();
  expect(eventsOf(run, "step").map(({ step }) => step)).toEqual([3, 4]);
});

it("does not sample from earlier weights on a server that would train on from them", async () => {
  const averaging = await served.serve({ rule: "mean" });
  await using backend = await createTinkerBackend({ url: averaging.url, times: { delayMs: 1 } });
  const judged = letterEnvironment({ judge: () => Math.random() });
  const config = configOf({ rollout: { maxStaleness: 1 }, training: { steps: 4, batchSize: 2 } });
  const run = await runTraining({ output: temporaryFolder(), config, environment: judged, backend });
  expect(run.error).toMatchObject({
    code: "backend.unsupported",
    hint: expect.stringContaining("maxStaleness"),
  });
});

it("exports an adapter that the embedded engine opens with the same log-probabilities", async () => {
  const output = temporaryFolder();
  await using backend = await connect();
  const config = configOf({ algorithm: { id: "sft" }, evaluation: { split: "test[:2]" } });
  const run = await runTraining({ output, config, backend });
  expect(run.error).toBeUndefined();
  expect(eventsOf(run, "evaluation").map(({ step }) => step)).toEqual([0, 2]);
  const exported = await served.engine.openModel({
    source: { type: "pretrained", path: join(output, "model"), chatTemplate: "none" },
    trainable: { type: "frozen" },
  });
  expect(exported.isAdapter).toBe(true);
  const sampled = server.sampled.at(-1)!;
  const [again] = await Array.fromAsync(
    (await exported.snapshot()).sample([
      {
        promptIds: sampled.prompt,
        settings: { temperature: 0, maxTokens: 4 },
        seed: 0,
        stopTokenIds: exported.renderer.stopTokenIds,
      },
    ]),
  );
  expect(again!.ids).toEqual(sampled.ids);
});

describe("what a server cannot do", () => {
  it.each([
    [{ model: { adapter: { type: "lora", alpha: 8 } } }, /alpha/],
    [{ model: { adapter: { type: "lora", dropout: 0.1 } } }, /dropout/],
    [{ model: { adapter: { type: "lora", targets: ["q_proj"] } } }, /linear layers/],
    [{ sampling: { temperature: 0.5 } }, /temperature/],
    [{ sampling: { topK: 5 } }, /topK/],
    [{ model: { path: undefined, chatTemplate: undefined, scratch: {} } }, /scratch/],
    [{ export: { format: "huggingface" } }, /huggingface/],
  ] as const)("is refused with an alternative: %o", async (changes, message) => {
    await using backend = await connect();
    const config = configOf({});
    const { model, ...rest } = changes as Partial<TrainingConfigInput>;
    const changed = { ...config, ...rest, model: { ...config.model, ...model } } as TrainingConfigInput;
    const { error } = await runTraining({ output: temporaryFolder(), config: changed, backend });
    expect(error).toMatchObject({ code: "backend.unsupported", message: expect.stringMatching(message) });
    expect((error as { hint: string }).hint).not.toBe("");
  });

  it("is refused for a model that the server does not list, with the list", async () => {
    await using backend = await connect();
    const source = { type: "pretrained", path: "/elsewhere/other-model" } as const;
    const opened = backend.openModel({ source, trainable: { type: "lora", lora: {} } });
    await expect(opened).rejects.toMatchObject({ code: "model.missing" });
  });
});
