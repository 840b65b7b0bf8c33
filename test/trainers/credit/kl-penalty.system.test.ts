import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { scored, unscored } from "../../../src/contract/reward.ts";
import type { JointNode } from "../../../src/core/rollout/joint-action.ts";
import { groupMean } from "../../../trainers/advantages/index.ts";
import type { GroupAdvantageOptions } from "../../../trainers/credit/index.ts";
import { type CreditContext, groupAdvantages, withKlPenalty } from "../../../trainers/credit/index.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { letterConfig, runTraining } from "../run-training.ts";
import { teamEnvironment } from "../team-environment.ts";
import { joint, node, tree } from "./joint-trees.ts";

/** d = p - q of the completion with an id. 0 for the others. With d = ln 2, k3 is 1 - ln 2; with -ln 2, ln 2 - 1/2. */
const distances: Readonly<Record<number, number>> = { 2: Math.LN2, 11: -Math.LN2 };

/** A reference that differs from the sampler by {@link distances}, and by a large value on the prompt. */
const context: CreditContext = {
  learnerOf: (agent) => agent,
  critic: () => {
    throw new Error("There is no critic.");
  },
  referenceLogprobs: async (agent, sequences) =>
    sequences.map((sequence) => {
      expect(sequence.agent).toBe(agent);
      return Float32Array.of(9, sequence.logprobs[1]! + (distances[sequence.ids[1]!] ?? 0));
    }),
};

/** Returns the advantages by the completion's id. */
async function advantages(
  root: JointNode,
  { weight, ...options }: Partial<GroupAdvantageOptions> & { readonly weight: number },
): Promise<Record<number, number>> {
  const credit = withKlPenalty(groupAdvantages({ estimator: groupMean, ...options }), weight);
  const { samples } = await credit.assign({ groups: [], trees: [tree(root)] }, context);
  return Object.fromEntries(samples.map(({ sequences, advantage }) => [sequences[0]!.ids[1], advantage as number]));
}

function expectClose(found: Readonly<Record<number, number>>, expected: Readonly<Record<number, number>>): void {
  expect(Object.keys(found)).toEqual(Object.keys(expected));
  for (const [id, value] of Object.entries(expected)) expect(found[Number(id)]).toBeCloseTo(value, 6);
}

describe("the KL penalty in the rewards of joint actions that branch", () => {
  it("is that of the agent's own completion, and is part of earlier returns", async () => {
    const child = node(1, [joint(0, 0, scored(2)), joint(1, 1, scored(6))]);
    const root = node(0, [joint(0, 0, scored(1), child), joint(1, 1, scored(2))]);
    // For a, with weight 1/2: 2 - 0.0965736 and 6 in the second turn, with mean 3.9517132. In the first 1 + 3.9517132 /
    // 2 = 2.9758566 and 2 - 0.1534264 = 1.8465736. b does not diverge.
    expectClose(await advantages(root, { weight: 0.5, discount: 0.5 }), {
      1: 0.5646415,
      2: -0.5646415,
      3: 0.5,
      4: -0.5,
      11: -2.0482868,
      12: 2.0482868,
      13: -2,
      14: 2,
    });
  });

  it("has its mean over all tokens as a metric", async () => {
    const child = node(1, [joint(0, 0, scored(2)), joint(1, 1, scored(6))]);
    const root = node(0, [joint(0, 0, scored(1), child), joint(1, 1, scored(2))]);
    const credit = withKlPenalty(groupAdvantages({ estimator: groupMean }), 0.5);
    const { metrics } = await credit.assign({ groups: [], trees: [tree(root)] }, context);
    // (1 - ln 2) + (ln 2 - 1/2) over the eight completions of one token.
    expect(metrics).toEqual({ "kl/reference": expect.closeTo(0.5 / 8, 6) });
  });

  it("with cross is subtracted from every joint action with the completion", async () => {
    const root = node(0, [
      joint(0, 0, scored(0)),
      joint(0, 1, scored(2)),
      joint(1, 0, scored(4)),
      joint(1, 1, scored(10)),
    ]);
    // For a: 1 and 7 - 0.3068528. As sums: 2 and 14 - 0.6137056.
    expectClose(await advantages(root, { weight: 1 }), { 1: -2.8465736, 2: 2.8465736, 3: -2, 4: 2 });
    expectClose(await advantages(root, { weight: 1, crossReturn: "sum" }), {
      1: -5.6931472,
      2: 5.6931472,
      3: -4,
      4: 4,
    });
  });

  it("applies to a joint action that was handed on separately, and leaves unscored ones unscored", async () => {
    const after = node(1, [joint(0, 0, scored(1)), joint(1, 1, scored(1))]);
    const root: JointNode = {
      ...node(0, [joint(0, 0, scored(1)), joint(1, 1, unscored("judge"))]),
      handoffAction: joint(1, 0, scored(0), after),
    };
    expectClose(await advantages(root, { weight: 2, discount: 0 }), {
      1: 0,
      3: 0,
      // 1 - 2 x 0.1931472 and 1.
      11: -0.1931472,
      12: 0.1931472,
      13: 0,
      14: 0,
    });
  });

  it.each([
    "tree",
    "handoff",
  ])("changes the weights of a run in a %s after the policy differs from its reference", async (turnStructure) => {
    const weights = async (klWeight: number, step: number): Promise<string> => {
      const output = temporaryFolder();
      const { error } = await runTraining({
        output,
        environment: teamEnvironment({ partial: 0.2 }),
        config: letterConfig({
          algorithm: { id: "magrpo", groupSize: 3, turnStructure, klIn: "reward", klWeight },
          training: { steps: 4, batchSize: 8 },
          checkpoint: { every: 1, keep: 4 },
        }),
      });
      expect(error).toBeUndefined();
      return readFile(join(output, "checkpoints", `step-00000${step}`, "model", "left", "bigram.json"), "utf8");
    };
    // At the start, the policy equals its reference.
    expect(await weights(1, 1)).toBe(await weights(0, 1));
    expect(await weights(1, 4)).not.toBe(await weights(0, 4));
  });
});
