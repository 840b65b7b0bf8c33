import { describe, expect, it } from "vitest";
import { z } from "zod";
import { noBaseline } from "../../trainers/advantages/index.ts";
import { type Algorithm, algorithms, defineAlgorithm } from "../../trainers/algorithms/index.ts";
import { checkConfig } from "../../trainers/config/training-config.ts";
import { groupAdvantages } from "../../trainers/credit/index.ts";
import { needsReference } from "../../trainers/losses/loss.ts";
import { createAlgorithm } from "../../trainers/training/resolve-config.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { letterConfig, runEnd, runTraining } from "./run-training.ts";

/** Creates the algorithm of a config with these settings. */
const created = (id: string, settings: object = {}): Algorithm =>
  createAlgorithm(checkConfig({ algorithm: { id, ...settings }, model: { scratch: {} } }));

describe("algorithms", () => {
  it("are found by id, and an unknown id names the nearest", () => {
    for (const definition of algorithms.list()) expect(algorithms.get(definition.id)).toBe(definition);
    expect(() => algorithms.get("grop")).toThrow(
      expect.objectContaining({ code: "config.unknown-name", hint: expect.stringContaining('Did you mean "grpo"') }),
    );
  });

  it("consist of the expected parts", () => {
    expect(created("sft")).toMatchObject({
      rollout: { actor: "demonstration", groupSize: 1, dropGroupsWithoutSignal: false, resampleRounds: 0 },
      loss: { terms: [{ type: "crossEntropy" }], aggregation: "token-mean" },
      updates: { epochs: 1, minibatches: 1 },
    });
    expect(created("grpo", { klWeight: 0.04, klEstimator: "k1", clipHigh: 0.28, minibatches: 2 })).toMatchObject({
      rollout: { actor: "policy", groupSize: 8 },
      loss: {
        terms: [
          { type: "ppo", clipLow: 0.2, clipHigh: 0.28 },
          { type: "kl", estimator: "k1", weight: 0.04 },
        ],
      },
      updates: { epochs: 1, minibatches: 2 },
    });
  });

  it("need a reference only for a KL term", () => {
    expect(needsReference(created("grpo").loss)).toBe(false);
    expect(needsReference(created("grpo", { klWeight: 1e-9 }).loss)).toBe(true);
    expect(needsReference(created("sft").loss)).toBe(false);
  });

  it("refuse unknown settings", () => {
    expect(() => created("grpo", { groupSize: 1 })).toThrow(expect.objectContaining({ code: "config.invalid" }));
    expect(() => created("sft", { clipLow: 1 })).toThrow(expect.objectContaining({ code: "config.invalid" }));
    expect(() => created("grpo", { advantage: "zscore" })).toThrow(/advantage/);
  });

  it("of users train in the same way as those of Lyceum", async () => {
    const reinforce = defineAlgorithm({
      id: "my-reinforce",
      description: "Rewards as they are.",
      settings: z.strictObject({ weight: z.number().default(1).describe("Scales the loss.") }),
      create: ({ weight }) => ({
        rollout: { actor: "policy", groupSize: 1, dropGroupsWithoutSignal: false, resampleRounds: 0 },
        credit: groupAdvantages({ estimator: noBaseline }),
        loss: { terms: [{ type: "policyGradient", weight }], aggregation: "sequence-mean" },
        updates: { epochs: 1, minibatches: 1 },
      }),
    });
    const record = await runTraining({
      output: temporaryFolder(),
      algorithms: [reinforce],
      config: letterConfig({ algorithm: { id: "my-reinforce", weight: 0.5 } }),
    });
    expect(record.error).toBeUndefined();
    expect(runEnd(record).reason).toBe("completed");
  });
});
