import { describe, expect, it } from "vitest";
import type { TrainingWarningEvent } from "../../src/contract/training-event.ts";
import { defaultHealthSettings, initialHealthState, updateHealth } from "../../src/reports/health/index.ts";
import { type AlgorithmDefinition, algorithms } from "../../trainers/algorithms/index.ts";
import { type CatalogueCase, catalogue } from "./catalogue.ts";
import { eventsOf, letterConfig, runTraining, temporaryFolder } from "./run-training.ts";

/** The benchmark `learning` runs three seeds on the engine. */
const seed = 2;

/** Returns the rise of the held-out mean reward in one run, and the findings of its health checks. */
async function learnt(
  { settings, environment, steps, learningRate = 0.6, id }: CatalogueCase,
  options: { readonly seed: number; readonly algorithms?: readonly AlgorithmDefinition[] },
): Promise<{ readonly gain: number; readonly found: readonly TrainingWarningEvent[] }> {
  const record = await runTraining({
    output: await temporaryFolder(),
    environment: environment(),
    ...(options.algorithms === undefined ? {} : { algorithms: options.algorithms }),
    config: letterConfig({
      seed: options.seed,
      algorithm: { id, ...settings },
      evaluation: { split: "test", temperature: 1, limit: 64 },
      checkpoint: { every: 0 },
      training: { steps, batchSize: 8, learningRate, epsilon: 1e-3, sampleEvery: 0 },
    }),
  });
  if (record.error !== undefined) throw record.error;
  const rewards = eventsOf(record, "evaluation").map(({ metrics }) => metrics["reward/mean"]!);
  const found: TrainingWarningEvent[] = [];
  let health = initialHealthState;
  for (const event of record.events) {
    if (event.type !== "step" && event.type !== "evaluation") continue;
    // Completions of one token are all cut off.
    const { state, warnings } = updateHealth(health, event, { ...defaultHealthSettings, ignore: ["truncation"] });
    health = state;
    found.push(...warnings);
  }
  return { gain: rewards.at(-1)! - rewards[0]!, found };
}

const name = ({ id, settings = {} }: CatalogueCase): string => `${id} ${JSON.stringify(settings)}`;

describe("every algorithm learns, and does not learn with one part broken", () => {
  it("is in the table", () => {
    expect(new Set(catalogue.map(({ id }) => id))).toEqual(new Set(algorithms.list().map(({ id }) => id)));
  });

  it.each(catalogue.map((entry) => ({ name: name(entry), entry })))("$name", async ({ entry }) => {
    const { gain, found } = await learnt(entry, { seed });
    expect(gain).toBeGreaterThan(entry.margin);
    expect(found).toEqual([]);
    const definition = algorithms.get(entry.id);
    const spoiled = { ...definition, create: (settings: never) => entry.control(definition.create(settings)) };
    expect((await learnt(entry, { seed, algorithms: [spoiled] })).gain).toBeLessThan(entry.margin / 2);
  });
});
