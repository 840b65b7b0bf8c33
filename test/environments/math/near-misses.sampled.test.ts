import { expect, test } from "vitest";
import { createAnswerChecker } from "../../../environments/math/answer-checker.ts";
import { isSlowTier } from "../../tier.ts";
import { nearMisses } from "./near-misses.ts";

test("no generated near miss is accepted", async () => {
  await using checker = createAnswerChecker({ deadlineMs: 10_000, threads: 2 });
  const misses = nearMisses(isSlowTier ? 10_000 : 2_000, 21);
  const verdicts = await Promise.all(misses.map((miss) => checker.check(miss)));
  expect(misses.filter((_, i) => verdicts[i]!.correct)).toEqual([]);
});
