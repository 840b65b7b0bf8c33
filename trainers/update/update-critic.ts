import type { ActivityMeter } from "../../src/core/training-progress.ts";
import type { UpdateSchedule } from "../algorithms/index.ts";
import type { AdamParams, Model } from "../backend/training-backend.ts";
import type { CriticSample } from "../credit/index.ts";
import { valueDatum } from "../data/value-datum.ts";
import { updateModel } from "./update-policy.ts";

/** Trains a separate critic on the targets of its samples. Returns metrics by name. */
export async function updateCritic(options: {
  readonly model: Model;
  readonly samples: readonly CriticSample[];
  readonly optimizer: AdamParams;
  readonly updates: UpdateSchedule;
  /** How far a prediction may move from its old value before its gradient is clipped. */
  readonly clip?: number;
  readonly maxTokensPerMicroBatch?: number | undefined;
  readonly seed?: number;
  readonly meter?: ActivityMeter;
}): Promise<Record<string, number>> {
  const { samples, clip, updates, ...rest } = options;
  const { epochs, minibatches } = updates;
  return updateModel({
    ...rest,
    updates: { epochs, minibatches },
    loss: { terms: [{ type: "value", clip }], aggregation: "token-mean" },
    units: samples.map((sample) => ({ data: [valueDatum(sample)], preferred: 1 })),
  });
}
