import { expect } from "vitest";
import type { GreedyReference } from "./reference.ts";

/** Where the top two logits are nearer than this, rounding may decide which is taken. */
const smallestGap = 1e-3;

/**
 * Expects the continuation of transformers up to its end, or up to a step whose top two logits differ by 1e-3 or
 * less: from such a near tie on, the two may go different ways.
 */
export function expectGreedy(actual: readonly number[], reference: GreedyReference): void {
  expect(actual).toHaveLength(reference.ids.length);
  const parted = reference.ids.findIndex((id, step) => actual[step] !== id);
  if (parted < 0) return;
  const gap = reference.gaps[parted]!;
  expect(gap, `step ${parted}: ${actual[parted]} in place of ${reference.ids[parted]}`).toBeLessThanOrEqual(
    smallestGap,
  );
}
