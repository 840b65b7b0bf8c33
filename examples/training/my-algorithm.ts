/*
 * A custom algorithm in a file that a config names: `algorithm: ./my-algorithm.ts`. It learns only from the best
 * answers of each group, as in expert iteration.
 *
 *   npm run example cli/main.ts train --config examples/training/my-algorithm.yaml
 */
import { type AdvantageEstimator, type AlgorithmDefinition, defineAlgorithm, groupAdvantages } from "lyceum/trainers";
import { z } from "zod";

/**
 * Gives advantage 1 to the answers with the group's highest reward if that is at least `least`, and 0 to all others.
 */
function bestOnly(least: number): AdvantageEstimator {
  return {
    id: "best-only",
    estimate: (rewards) => {
      const best = Math.max(least, ...rewards);
      return rewards.map((reward) => (reward === best ? 1 : 0));
    },
  };
}

export const algorithm: AlgorithmDefinition = defineAlgorithm({
  id: "best-of-group",
  description: "Learns the best answers of each group.",
  settings: z.strictObject({
    groupSize: z.int().min(1).default(8).describe("Answers to each task."),
    leastReward: z.number().default(0).describe("The lowest reward of an answer that is learned."),
  }),
  create: ({ groupSize, leastReward }) => ({
    rollout: { actor: "policy", groupSize, dropGroupsWithoutSignal: true, resampleRounds: 0 },
    credit: groupAdvantages({ estimator: bestOnly(leastReward) }),
    loss: { terms: [{ type: "policyGradient" }], aggregation: "token-mean" },
    updates: { epochs: 1, minibatches: 1 },
  }),
});
