import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { createAnswerChecker } from "../../../environments/math/answer-checker.ts";
import { startWorker } from "../../../environments/math/equivalence/comparison-thread.ts";
import { isSlowTier } from "../../tier.ts";
import { equalPairs, unequalPairs } from "./labelled-pairs.ts";
import { type LabelledReply, rightReplies, wrongReplies } from "./labelled-replies.ts";
import { notStatedBySamples, statedBySamples } from "./sampled-replies.ts";

const checker = createAnswerChecker({ deadlineMs: 10_000 });
afterAll(() => checker[Symbol.asyncDispose]());

async function isRight(answer: string, gold: string | readonly string[]): Promise<boolean> {
  return (await checker.check({ text: `So it is \\boxed{${answer}}.`, gold })).correct;
}

describe("labelled pairs", () => {
  test("there are enough", () => {
    const all = [...Object.values(equalPairs), ...Object.values(unequalPairs)].flat();
    expect(new Set(all.map((pair) => JSON.stringify(pair))).size).toBeGreaterThanOrEqual(300);
  });

  test.each(Object.entries(equalPairs))("%s that are equal", async (_kind, pairs) => {
    const judged = await Promise.all(pairs.map(async (pair) => ({ pair, right: await isRight(...pair) })));
    expect(judged.filter(({ right }) => !right)).toEqual([]);
  });

  test.each(Object.entries(unequalPairs))("%s that are not equal", async (_kind, pairs) => {
    const judged = await Promise.all(pairs.map(async (pair) => ({ pair, right: await isRight(...pair) })));
    expect(judged.filter(({ right }) => right)).toEqual([]);
  });
});

describe("labelled replies", () => {
  test.each(Object.entries(rightReplies))("%s that are right", async (_kind, replies) => {
    expect(await repliesJudged(replies, false)).toEqual([]);
  });

  test.each(Object.entries(wrongReplies))("%s that are wrong", async (_kind, replies) => {
    expect(await repliesJudged(replies, true)).toEqual([]);
  });

  test("of a model state what they state, and nothing else", async () => {
    expect(await repliesJudged(statedBySamples, false)).toEqual([]);
    expect(await repliesJudged(notStatedBySamples, true)).toEqual([]);
  });

  /** The replies with this verdict. */
  async function repliesJudged(replies: readonly LabelledReply[], correct: boolean): Promise<LabelledReply[]> {
    const verdicts = await Promise.all(replies.map(([text, gold]) => checker.check({ text, gold })));
    return replies.filter((_, i) => verdicts[i]!.correct === correct);
  }
});

test("a reference with several forms accepts any of them", async () => {
  expect(await isRight("1+x", ["2x", "x+1"])).toBe(true);
  expect(await isRight("7", ["\\text{seven}", "7"])).toBe(true);
  expect(await isRight("x-1", ["2x", "x+1"])).toBe(false);
});

test.each([
  ["so there are 5 apples left", "5", true],
  ["The answer is 5, because 1 + 4 = 5.", "5", true],
  ["The answer is 5 log 2", "5", false],
  ["The answer is $x^2+1$.", "1+x^2", true],
  ["First $x$.\nThen we get $2\\sqrt{3}$.", "\\sqrt{12}", true],
  ["#### (1, 2)", "(1,2)", true],
  ["<answer>[1,2)</answer>", "[1,2)", true],
  ["The answer is \\boxed{[3, \\infty)}", "3", false],
])("%j states %s: %s", async (text, gold, correct) => {
  expect((await checker.check({ text, gold })).correct).toBe(correct);
});

describe("hostile answers", () => {
  const bombs = [
    "9^{9^{9^{9^{9}}}}+x",
    "x^{x^{x^{x^{9^{9^{9}}}}}}",
    "(10000000!)!+\\pi",
    "\\sum_{k=1}^{1000000000} \\sin(k)",
    "\\prod_{k=1}^{1000000000} \\frac{k+1}{k}",
    "(x+y+1)^{100000}",
    `${"\\sqrt{".repeat(150)}x${"}".repeat(100)}`,
    `${"(".repeat(480)}x${")".repeat(480)}+1`,
    `${"\\frac{1}{1+".repeat(70)}x${"}".repeat(70)}`,
    "\\int_0^{1000000} \\sin(x^{x^x}) dx",
    "[".repeat(900),
    "x".repeat(50_000),
    "\\{".repeat(400),
  ];
  test("end within their deadline, are wrong, and leave the checker usable", async () => {
    await using guarded = createAnswerChecker({ deadlineMs: 500 });
    for (const bomb of bombs) {
      const text = `\\boxed{${bomb}}`;
      expect({ bomb, ...(await guarded.check({ text, gold: "\\pi+x+2" })) }).toMatchObject({ correct: false });
    }
    await using patient = createAnswerChecker({ deadlineMs: 10_000 });
    expect((await patient.check({ text: "\\boxed{x+2+\\pi}", gold: "\\pi+x+2" })).correct).toBe(true);
  });

  test("that exceed the deadline are wrong, and the thread is replaced", async () => {
    const started: Worker[] = [];
    const start = (): Worker => {
      const worker = startWorker();
      started.push(worker);
      return worker;
    };
    await using guarded = createAnswerChecker({ deadlineMs: 2_000, start });
    const bomb = "\\boxed{\\sum_{k=1}^{1000000000} \\sin(k)}";
    expect((await guarded.check({ text: bomb, gold: "\\pi+x" })).correct).toBe(false);
    expect((await guarded.check({ text: bomb, gold: "\\pi" })).correct).toBe(false);
    expect((await guarded.check({ text: "\\boxed{x+\\pi}", gold: "\\pi+x" })).correct).toBe(true);
    expect(started.length).toBeGreaterThan(1);
  });
});

describe("a thread that dies", () => {
  const text = "\\boxed{x+1}";
  const question = { text, gold: "1+x" };
  const dying = (): Worker => new Worker("process.exit(3)", { eval: true });

  test("is replaced, and the answer is still judged", async () => {
    let starts = 0;
    const start = (): Worker => {
      starts += 1;
      return starts === 1 ? dying() : startWorker();
    };
    await using mended = createAnswerChecker({ deadlineMs: 10_000, start });
    expect((await mended.check(question)).correct).toBe(true);
    expect(starts).toBe(2);
  });

  test("is replaced if it is killed from outside, between and during comparisons", async () => {
    const started: Worker[] = [];
    const start = (): Worker => {
      const worker = startWorker();
      started.push(worker);
      return worker;
    };
    await using mended = createAnswerChecker({ deadlineMs: 10_000, start });
    expect((await mended.check(question)).correct).toBe(true);
    await started[0]!.terminate();
    const judged = mended.check(question);
    await started[1]?.terminate();
    expect((await judged).correct).toBe(true);
    expect(started.length).toBeGreaterThanOrEqual(2);
  });

  test("twice rejects, and never counts as a wrong answer", async () => {
    await using broken = createAnswerChecker({ start: dying });
    await expect(broken.check(question)).rejects.toMatchObject({ code: "environment.failed" });
    expect((await broken.check({ text: "5", gold: "5" })).correct).toBe(true);
  });
});

test("an aborted check rejects with the signal's reason, and the next one is judged", async () => {
  await using own = createAnswerChecker({ deadlineMs: 10_000 });
  const controller = new AbortController();
  const judged = own.check({ text: "\\boxed{x+1}", gold: "1+x", signal: controller.signal });
  controller.abort(new Error("enough"));
  await expect(judged).rejects.toThrow("enough");
  expect((await own.check({ text: "\\boxed{x+1}", gold: "1+x" })).correct).toBe(true);
});

test("random expressions get a verdict", async () => {
  const pieces = [..."0123456789xyabe+-*/^_(){}[],=<>|!'. ", "\\frac{", "}{", "\\sqrt{", "\\sin ", "\\pi", "\\pm "];
  const unit = fc.constantFrom(
    ...pieces,
    "\\begin{pmatrix}",
    "\\end{pmatrix}",
    "\\\\",
    "&",
    "\\cup ",
    "\\infty",
    "\\{",
  );
  const texts = fc.sample(fc.string({ unit, maxLength: 24 }), { numRuns: isSlowTier ? 10_000 : 1_000, seed: 7 });
  await using own = createAnswerChecker({ deadlineMs: 1_000, threads: 2 });
  const verdicts = await Promise.all(
    texts.map((text) => own.check({ text: `#### ${text}`, gold: "7\\sqrt{7}+x^{77}" })),
  );
  expect(verdicts.filter(({ correct }) => correct)).toEqual([]);
});
