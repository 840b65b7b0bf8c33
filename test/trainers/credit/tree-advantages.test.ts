import { describe, expect, it } from "vitest";
import { scored, unscored } from "../../../src/contract/reward.ts";
import type { JointNode } from "../../../src/core/rollout/joint-action.ts";
import { groupMean } from "../../../trainers/advantages/index.ts";
import { treeHasSignal, treeSamples } from "../../../trainers/credit/tree-advantages.ts";
import { joint, node, tree } from "./joint-trees.ts";

/** Returns the advantages by the completion's id. */
function advantages(root: JointNode, options: Partial<Parameters<typeof treeSamples>[1]> = {}): Record<number, number> {
  const samples = treeSamples(tree(root), { estimator: groupMean, ...options });
  return Object.fromEntries(samples.map(({ sequences, advantage }) => [sequences[0]!.ids[1], advantage as number]));
}

describe("treeSamples", () => {
  it("align: each completion has the return of its one joint action", () => {
    expect(advantages(node(0, [joint(0, 0, scored(1)), joint(1, 1, scored(3))]))).toEqual({ 1: -1, 2: 1, 3: -1, 4: 1 });
  });

  const crossed = node(0, [
    joint(0, 0, scored(0)),
    joint(0, 1, scored(2)),
    joint(1, 0, scored(4)),
    joint(1, 1, scored(10)),
  ]);

  it("cross: the mean over the joint actions that contain it, or the sum if set", () => {
    // a: (0 + 2) / 2 = 1 and (4 + 10) / 2 = 7; b: (0 + 4) / 2 = 2 and (2 + 10) / 2 = 6.
    expect(advantages(crossed)).toEqual({ 1: -3, 2: 3, 3: -2, 4: 2 });
    expect(advantages(crossed, { crossReturn: "sum" })).toEqual({ 1: -6, 2: 6, 3: -4, 4: 4 });
  });

  it("tree: a return is the reward plus the discounted mean return of the joint actions that follow", () => {
    const child = node(1, [joint(0, 0, scored(2)), joint(1, 1, scored(6))]);
    const root = node(0, [joint(0, 0, scored(1), child), joint(1, 1, scored(2))]);
    // 1 + 0.5 x 4 = 3 and 2.
    expect(advantages(root, { discount: 0.5 })).toEqual({
      1: 0.5,
      2: -0.5,
      3: 0.5,
      4: -0.5,
      11: -2,
      12: 2,
      13: -2,
      14: 2,
    });
    expect(advantages(root, { discount: 0 })).toMatchObject({ 1: -0.5, 2: 0.5 });
  });

  it("turn weights and the termination weight multiply", () => {
    const child = node(1, [joint(0, 0, scored(0)), joint(1, 1, scored(2))], true);
    const root = node(0, [joint(0, 0, scored(0), child), joint(1, 1, scored(2))]);
    const weighed = advantages(root, { discount: 0, turnWeights: [2, 3], terminationWeight: 5 });
    expect(weighed).toMatchObject({ 1: -2, 2: 2, 11: -15, 12: 15 });
  });

  it("an unscored joint action is left out and never counts as 0", () => {
    const root = node(0, [
      joint(0, 0, scored(4)),
      joint(0, 1, unscored("judge")),
      joint(1, 0, scored(2)),
      joint(1, 1, unscored("judge")),
    ]);
    // b's second completion has no scored joint action; its first is alone.
    expect(advantages(root)).toEqual({ 1: 1, 2: -1, 3: 0 });
  });

  it("learns from a turn that was handed on separately", () => {
    const root: JointNode = {
      ...node(0, [joint(0, 0, scored(1)), joint(1, 1, scored(1))]),
      handoffAction: joint(0, 1, scored(0), node(1, [joint(0, 0, scored(0)), joint(1, 1, scored(1))])),
    };
    expect(advantages(root)).toMatchObject({ 1: 0, 2: 0, 11: -0.5, 12: 0.5 });
    expect(treeHasSignal(tree(root), {})).toBe(true);
    expect(treeHasSignal(tree(node(0, [joint(0, 0, scored(1)), joint(1, 1, scored(1))])), {})).toBe(false);
  });
});
