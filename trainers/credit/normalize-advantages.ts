import type { AgentId } from "../../src/contract/action.ts";
import { mean, standardDeviation, withoutRounding } from "../../src/core/statistics.ts";
import type { TrainingSample } from "../data/training-sample.ts";

/**
 * Returns the samples with the advantages (A - mean(A)) / (std(A) + 1e-8). The mean and the unbiased standard deviation
 * are over all tokens that one learner sampled in the batch.
 */
export function normalizeAdvantages(
  samples: readonly TrainingSample[],
  learnerOf: (agent: AgentId) => string,
): TrainingSample[] {
  const byLearner = new Map<string, number[]>();
  for (const sample of samples) {
    const name = learnerOf(sample.agent);
    const values = byLearner.get(name) ?? [];
    byLearner.set(name, values);
    for (const [i, { mask }] of sample.sequences.entries()) {
      for (const [k, sampled] of mask.entries()) if (sampled === 1) values.push(advantageAt(sample, i, k));
    }
  }
  const scales = new Map(
    [...byLearner].map(([name, given]) => {
      const values = withoutRounding(given);
      return [name, { centre: mean(values), spread: standardDeviation(values) }];
    }),
  );
  return samples.map((sample) => {
    const { centre, spread } = scales.get(learnerOf(sample.agent))!;
    const advantage = sample.sequences.map(({ ids }, i) =>
      ids.map((_, k) => (spread === 0 ? 0 : (advantageAt(sample, i, k) - centre) / (spread + 1e-8))),
    );
    return { ...sample, advantage };
  });
}

function advantageAt({ advantage = 0 }: TrainingSample, sequence: number, id: number): number {
  return typeof advantage === "number" ? advantage : advantage[sequence]![id]!;
}
