import { expect } from "vitest";
import type { GreedyReference } from "./reference.ts";

/** If the top two logits differ by less, rounding may decide between them. */
const smallestGap = 1e-3;

/**
 * Expects the continuation of transformers up to its end, or up to a step whose top two logits differ by 1e-3 or less.
 * After such a near tie, the two may differ.
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
