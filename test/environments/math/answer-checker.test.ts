import { afterAll, describe, expect, test } from "vitest";
import { createAnswerChecker } from "../../../environments/math/answer-checker.ts";
import { equalPairs, knownMisses, type LabelledPair, unequalPairs } from "./labelled-pairs.ts";

const checker = createAnswerChecker({ deadlineMs: 10_000 });
afterAll(() => checker[Symbol.asyncDispose]());

async function isRight(answer: string, gold: string | readonly string[]): Promise<boolean> {
  return (await checker.check({ text: `So it is \\boxed{${answer}}.`, gold })).correct;
}

describe("labelled pairs", () => {
  const isKnownMiss = ([answer, gold]: LabelledPair): boolean =>
    knownMisses.some(([missed, wanted]) => missed === answer && wanted === gold);

  test("there are enough, and few of them are missed", () => {
    const equal = Object.values(equalPairs).flat();
    const all = [...equal, ...Object.values(unequalPairs).flat()];
    expect(new Set(all.map((pair) => JSON.stringify(pair))).size).toBeGreaterThanOrEqual(300);
    expect(knownMisses.length / all.length).toBeLessThanOrEqual(0.03);
    expect(knownMisses.every(([answer, gold]) => equal.some((pair) => pair[0] === answer && pair[1] === gold))).toBe(
      true,
    );
  });

  test.each(Object.entries(equalPairs))("%s that are equal", async (_kind, pairs) => {
    const judged = await Promise.all(pairs.map(async (pair) => ({ pair, right: await isRight(...pair) })));
    const wanted = pairs.map((pair) => ({ pair, right: !isKnownMiss(pair) }));
    expect(judged).toEqual(wanted);
  });

  test.each(Object.entries(unequalPairs))("%s that are not equal", async (_kind, pairs) => {
    const judged = await Promise.all(pairs.map(async (pair) => ({ pair, right: await isRight(...pair) })));
    expect(judged.filter(({ right }) => right)).toEqual([]);
  });
});
