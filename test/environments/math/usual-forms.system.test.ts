import { afterAll, describe, expect, test } from "vitest";
import { createAnswerChecker } from "../../../environments/math/answer-checker.ts";
import { type UsualForm, usualForms } from "./usual-forms.ts";

const checker = createAnswerChecker({ deadlineMs: 10_000 });
afterAll(() => checker[Symbol.asyncDispose]());

/** The cases with this verdict. */
async function judged(forms: readonly UsualForm[], correct: boolean): Promise<readonly UsualForm[]> {
  const verdicts = await Promise.all(
    forms.map(([text, gold, question]) => checker.check({ text, gold, ...(question !== undefined && { question }) })),
  );
  return forms.filter((_, i) => verdicts[i]!.correct === correct);
}

describe.each(Object.entries(usualForms))("%s", (_kind, { right, wrong }) => {
  test("there are at least 15 of each", () => {
    for (const forms of [right, wrong]) {
      expect(new Set(forms.map((form) => JSON.stringify(form))).size).toBeGreaterThanOrEqual(15);
    }
  });

  test("right ones are accepted", async () => expect(await judged(right, false)).toEqual([]));

  test("near misses are rejected", async () => expect(await judged(wrong, true)).toEqual([]));
});
