import { afterAll, describe, expect, test } from "vitest";
import { createAnswerChecker } from "../../../environments/math/answer-checker.ts";
import { verifyAnswer } from "../../../environments/math/verify-answer.ts";
import {
  decorations,
  type Judged,
  languages,
  latexForms,
  otherNotations,
  severalAnswers,
  statements,
  surroundings,
} from "./surroundings.ts";

const checker = createAnswerChecker({ deadlineMs: 10_000 });
afterAll(() => checker[Symbol.asyncDispose]());

/** Returns the replies that either reader judges wrongly. */
async function misjudged(cases: Iterable<Judged>): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const { text, gold, right } of cases) {
    const verdicts = [verifyAnswer(text, gold).correct, (await checker.check({ text, gold })).correct];
    if (verdicts.some((verdict) => verdict !== right)) found.push({ text, gold, right, verdicts });
  }
  return found;
}

/** Golds that are right for a stated number, and others that are close to it or are in the words around it. */
const golds: Readonly<Record<string, readonly string[]>> = {
  "34": ["34", "34.0", "35", "33", "-34", "3", "4", "340", "43", "9", "16", "18", "7", "12"],
  "-7": ["-7", "7", "-8", "70", "9", "16"],
  "1,234": ["1234", "1", "234", "1.234", "1235"],
  "2.5": ["2.5", "5/2", "25", "5", "2", "-2.5"],
};

/** Replies with each number in turn, so that every frame and decoration occurs with one of them. */
function casesOf(frames: readonly string[], decorationsOfNumber: readonly string[], after = ""): readonly Judged[] {
  const texts = frames.flatMap((frame) => decorationsOfNumber.map((one) => [frame, one] as const));
  const numbers = Object.entries(golds);
  return texts.flatMap(([frame, decoration], i) => {
    const [number, options] = numbers[i % numbers.length]!;
    const text = frame.replace("@", () => decoration.replace("@", () => number) + after);
    return options.map((gold) => ({ text, gold, right: numberOf(gold) === numberOf(number) }));
  });
}

function numberOf(written: string): number {
  const [top, bottom = "1"] = written.replaceAll(",", "").split("/");
  return Number(top) / Number(bottom);
}

describe("one plain number is read the same whatever is around it", () => {
  test.each(Object.entries(languages))("in %s", async (_language, frames) => {
    expect(await misjudged(casesOf(frames, decorations))).toEqual([]);
  });

  test.each(decorations)("decorated as %s", async (decoration) => {
    const fits = (statement: string): boolean =>
      !statement.includes("\\boxed") || !/\\boxed|\$|\\\(|[`<"“'«「]/.test(decoration);
    expect(await misjudged(casesOf(statements.filter(fits), [decoration]))).toEqual([]);
  });

  test.each(surroundings)("followed by %j", async (after) => {
    const fits = (statement: string): boolean => !(statement.includes("\\boxed") && /[a-z]{4}|!|=/.test(after));
    const frames = statements.filter(fits).filter((one) => after !== "!" || !/@\s*[a-z]/.test(one));
    expect(await misjudged(casesOf(frames, ["@"], after))).toEqual([]);
  });
});

test.each(Object.entries(latexForms))("LaTeX: %s", async (_kind, cases) => {
  const found: unknown[] = [];
  for (const { text, gold, right } of cases) {
    const verdict = await checker.check({ text, gold });
    if (verdict.correct !== right) found.push({ text, gold, right });
  }
  expect(found).toEqual([]);
});

test("digits, scales and separators of other languages", async () => {
  expect(await misjudged(otherNotations)).toEqual([]);
});

test("a reply that states another answer, denies this one or lists several is wrong", async () => {
  expect(await misjudged(severalAnswers)).toEqual([]);
});
