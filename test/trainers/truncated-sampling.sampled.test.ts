import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readTrace } from "../../src/core/trace/read-trace.ts";
import type { Datum } from "../../trainers/backend/datum.ts";
import type { Model, TrainingBackend } from "../../trainers/backend/training-backend.ts";
import type { TrainingConfigInput } from "../../trainers/config/training-config.ts";
import { sharedEngine } from "../backends/onnx/shared-engine.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { isSlowTier, sampleOf } from "../tier.ts";
import { type CatalogueCase, catalogue } from "./catalogue.ts";
import { changedBackend } from "./changed-backend.ts";
import { eventsOf, type RunRecord, runTraining } from "./run-training.ts";

const truncations: Readonly<Record<string, TrainingConfigInput["sampling"]>> = {
  "top-k": { topK: 5 },
  "top-p": { topP: 0.8 },
  "min-p": { minP: 0.2 },
  "all of them, at another temperature": { topK: 40, topP: 0.9, minP: 0.05, temperature: 1.5 },
};

function config(changes: Partial<TrainingConfigInput>): TrainingConfigInput {
  return {
    algorithm: { id: "grpo", groupSize: 8 },
    model: { scratch: { hiddenSize: 32, layers: 1, heads: 2, maxLength: 64 } },
    seed: 1,
    checkpoint: { every: 0 },
    preflight: false,
    ...changes,
    sampling: { maxTokens: 2, ...changes.sampling },
    training: { steps: 1, batchSize: 16, learningRate: 1e-2, sampleEvery: 0, ...changes.training },
  };
}

async function run(options: Parameters<typeof runTraining>[0]): Promise<RunRecord> {
  const record = await runTraining(options);
  if (record.error !== undefined) throw record.error;
  return record;
}

function stepMetrics(record: RunRecord): Readonly<Record<string, number>>[] {
  return eventsOf(record, "step").map(({ metrics }) => metrics);
}

function withoutSupports(data: readonly Datum[]): Datum[] {
  return data.map(({ supports: _, ...datum }) => datum);
}

/** A backend whose models compute log-probabilities over the whole vocabulary, also for truncated sampling. */
function overWholeVocabulary(backend: TrainingBackend, kinds: readonly ("policy" | "reference")[]): TrainingBackend {
  return changedBackend((model: Model) => {
    const kind = model.spec.trainable.type === "frozen" ? "reference" : "policy";
    if (!kinds.includes(kind)) return {};
    return {
      forward: (data, wanted) => model.forward(withoutSupports(data), wanted),
      forwardBackward: (data, terms, aborting) => model.forwardBackward(withoutSupports(data), terms, aborting),
    };
  }, backend);
}

const practised = catalogue.filter(({ id }) => id !== "sft");
const name = ({ id, form }: CatalogueCase): string => form ?? id;

describe("training on samples of top-k, top-p and min-p", () => {
  it.each(Object.entries(truncations))("has ratios of 1 at the first step: %s", async (_, sampling) => {
    await using backend = await sharedEngine();
    const record = await run({ output: temporaryFolder(), backend, config: config({ sampling: sampling! }) });
    const [metrics] = stepMetrics(record);
    expect(Math.abs(metrics!["ratio/max"]! - 1)).toBeLessThan(1e-4);
    expect(metrics!["kl/sampler"]).toBeLessThan(1e-8);
    expect(metrics!["tokens/trained"]).toBeGreaterThan(50);
  });

  it("has ratios of 1 at the first step for any settings, also if the support is a single token", async () => {
    await using backend = await sharedEngine();
    const settings = fc.record(
      {
        temperature: fc.constantFrom(0.3, 0.7, 1, 1.8),
        topK: fc.constantFrom(2, 31, 32, 33, 260, 1000),
        topP: fc.constantFrom(1e-6, 0.2, 0.9, 0.9999, 1),
        minP: fc.constantFrom(0, 1e-6, 0.05, 0.9, 1 - 1e-9),
      },
      { requiredKeys: ["temperature"] },
    );
    const updates: Readonly<Record<string, object>> = {
      grpo: { dropGroupsWithoutSignal: false },
      ppo: { epochs: 1, minibatches: 1 },
      reinforce: {},
    };
    const trains = fc.constantFrom(...Object.keys(updates));
    await fc.assert(
      fc.asyncProperty(settings, trains, fc.nat(1000), async (sampling, id, seed) => {
        const record = await run({
          output: temporaryFolder(),
          backend,
          config: config({
            algorithm: { id, groupSize: 4, entropyWeight: 0.1, ...updates[id] },
            sampling: { maxTokens: 4, ...sampling },
            training: { batchSize: 4 },
            seed,
          }),
        });
        const [metrics] = stepMetrics(record);
        expect(metrics!["tokens/trained"]).toBeGreaterThan(0);
        expect(Math.abs(metrics!["ratio/max"]! - 1)).toBeLessThan(1e-5);
        expect(metrics!["kl/sampler"]).toBeLessThan(1e-10);
      }),
      { numRuns: isSlowTier ? 15 : 5, examples: [[{ temperature: 1, topP: 1e-6 }, "grpo", 1]] },
    );
  });

  it.each(
    Object.entries(truncations),
  )("would have ratios far from 1 over the whole vocabulary: %s", async (_, sampling) => {
    await using engine = await sharedEngine();
    const backend = overWholeVocabulary(engine, ["policy"]);
    const record = await run({ output: temporaryFolder(), backend, config: config({ sampling: sampling! }) });
    const [metrics] = stepMetrics(record);
    expect(metrics!["ratio/max"]).toBeLessThan(0.95);
    expect(metrics!["kl/sampler"]).toBeGreaterThan(1e-3);
  });

  const forms = practised.map((entry) => ({ name: name(entry), entry }));
  it.each(sampleOf(forms, 6))("has ratios of 1 in $name", async ({ entry }) => {
    const { id, settings, environment } = entry;
    const options = {
      environment: environment(),
      config: config({
        algorithm: { id, ...settings },
        sampling: truncations["all of them, at another temperature"]!,
        training: { batchSize: 8 },
      }),
    };
    await using backend = await sharedEngine();
    const [metrics] = stepMetrics(await run({ ...options, output: temporaryFolder(), backend }));
    expect(metrics!["kl/sampler"]).toBeLessThan(1e-8);
    const spoiled = overWholeVocabulary(backend, ["policy"]);
    const [wrong] = stepMetrics(await run({ ...options, output: temporaryFolder(), backend: spoiled }));
    expect(wrong!["kl/sampler"]).toBeGreaterThan(1e-4);
  });

  it.each([
    "loss",
    "reward",
  ])("measures the divergence from the reference on the same tokens, in the %s", async (klIn) => {
    await using backend = await sharedEngine();
    const options = (klWeight: number) => ({
      config: config({ algorithm: { id: "grpo", klIn, klWeight }, sampling: { topK: 4, temperature: 0.7 } }),
    });
    const weights = async (backend: TrainingBackend, klWeight: number): Promise<number> => {
      const record = await run({ ...options(klWeight), output: temporaryFolder(), backend });
      return stepMetrics(record)[0]!["optimizer/gradient-norm"]!;
    };
    // Before the first step, policy and reference are equal. The term has no gradient and lowers no reward.
    const without = await weights(backend, 0);
    expect((await weights(backend, 1)) / without).toBeCloseTo(1, 4);
    const spoiled = overWholeVocabulary(backend, ["reference"]);
    expect(Math.abs((await weights(spoiled, 1)) / without - 1)).toBeGreaterThan(1e-3);
  });

  it("learns", async () => {
    await using backend = await sharedEngine();
    const options = {
      config: config({
        sampling: { topP: 0.7, temperature: 1.2, maxTokens: 1 },
        training: { steps: 30, batchSize: 16, learningRate: 1e-2 },
        evaluation: { split: "test", temperature: 1, limit: 64 },
      }),
    };
    const record = await run({ ...options, output: temporaryFolder(), backend });
    const rewards = eventsOf(record, "evaluation").map(({ metrics }) => metrics["reward/mean"]!);
    expect(rewards.at(-1)! - rewards[0]!).toBeGreaterThan(0.4);
    // A batch in which every group has equal rewards has no gradient and no ratios.
    const taught = stepMetrics(record).filter((metrics) => metrics["tokens/trained"]! > 0);
    expect(taught.length).toBeGreaterThan(10);
    for (const metrics of taught) expect(metrics["kl/sampler"]).toBeLessThan(1e-8);
  });

  it("corrects batches that were played ahead over their token supports", async () => {
    await using backend = await sharedEngine();
    const record = await run({
      output: temporaryFolder(),
      backend,
      config: config({
        rollout: { maxStaleness: 1 },
        sampling: { topP: 0.7 },
        training: { steps: 3, batchSize: 16, learningRate: 1e-3 },
      }),
    });
    // One small step is between the weights that sampled and those that learn. Without the supports, they would differ
    // more.
    for (const metrics of stepMetrics(record)) expect(metrics["kl/sampler"]).toBeLessThan(1e-2);
  });
});

describe("a trace of truncated sampling", () => {
  it("has the support of every sampled token", async () => {
    await using backend = await sharedEngine();
    const output = temporaryFolder();
    await run({ output, backend, config: config({ sampling: { topK: 5 }, rollout: { trace: true } }) });
    let sampled = 0;
    for await (const { agents } of readTrace(join(output, "trace.jsonl"))) {
      for (const { nodes } of Object.values(agents)) {
        for (const { tokens } of nodes) {
          if (tokens?.mask !== 1) continue;
          expect(tokens.lacksSupports).toBeUndefined();
          expect(tokens.supports).toHaveLength(tokens.ids.length);
          for (const [i, id] of tokens.ids.entries()) {
            expect(tokens.supports![i]).toHaveLength(5);
            expect(tokens.supports![i]).toContain(id);
            sampled++;
          }
        }
      }
    }
    expect(sampled).toBeGreaterThan(100);
  });

  it("is refused for training if the sampler did not record supports", async () => {
    await using engine = await sharedEngine();
    const backend = changedBackend(
      (model) => ({
        snapshot: async () => {
          const sampler = await model.snapshot();
          return {
            specificationVersion: "v1",
            version: sampler.version,
            async *sample(requests, options) {
              for await (const { supports: _, ...sample } of sampler.sample(requests, options)) yield sample;
            },
            close: () => sampler.close(),
          };
        },
      }),
      engine,
    );
    const { error } = await runTraining({
      output: temporaryFolder(),
      backend,
      config: config({ sampling: { topK: 5 } }),
    });
    expect(error).toMatchObject({ code: "policy.unsupported-input", message: expect.stringContaining("top-k") });
  });
});
