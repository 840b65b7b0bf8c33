import { describe, expect, it } from "vitest";
import { defaultHealthSettings, initialHealthState, updateHealth } from "../../reports/health/index.ts";
import type { TrainingEvent, TrainingWarningEvent } from "../../src/contract/training-event.ts";
import { algorithms } from "../../trainers/algorithms/index.ts";
import { algorithmConformance } from "../../trainers/testing/index.ts";
import { isSlowTier, sampleOf } from "../tier.ts";
import { createBigramBackend } from "./bigram-backend.ts";
import { catalogue } from "./catalogue.ts";
import { letterConfig } from "./run-training.ts";

/** The benchmark `learning` runs three seeds on the engine. */
const seed = 2;

/** Completions of one token are all cut off. */
const health = { ...defaultHealthSettings, ignore: ["truncation"] } as const;

/** A control shows that the test can fail, so a few are enough. */
const controlled = new Set(sampleOf(catalogue, 6));

it("has every algorithm", () => {
  expect(new Set(catalogue.map(({ id }) => id))).toEqual(new Set(algorithms.list().map(({ id }) => id)));
});

/** The slow tier has the other forms of an algorithm too. */
const entries = catalogue.filter(
  (entry, index) => isSlowTier || controlled.has(entry) || catalogue.findIndex(({ id }) => id === entry.id) === index,
);

describe.each(
  entries.map((entry) => ({ name: `${entry.id} ${JSON.stringify(entry.settings ?? {})}`, entry })),
)("$name", ({ entry }) => {
  const { id, settings, steps, learningRate = 0.6, environment, margin, control } = entry;
  const warnings: TrainingWarningEvent[] = [];
  let state = initialHealthState;
  const onEvent = (event: TrainingEvent): void => {
    if (event.type !== "step" && event.type !== "evaluation") return;
    const updated = updateHealth(state, event, health);
    state = updated.state;
    warnings.push(...updated.warnings);
  };
  const cases = algorithmConformance({
    algorithm: algorithms.get(id),
    config: letterConfig({
      seed,
      algorithm: { id, ...settings },
      evaluation: { split: "test", temperature: 1, limit: 64 },
      checkpoint: { every: 0 },
      training: { steps, batchSize: 8, learningRate, epsilon: 1e-3, sampleEvery: 0 },
    }),
    environment,
    backend: createBigramBackend,
    margin,
    ...(controlled.has(entry) ? { control } : {}),
    onEvent,
  });
  it.each(cases)("$name", ({ run }) => run());
  it("has no health warning", () => expect(warnings).toEqual([]));
});
