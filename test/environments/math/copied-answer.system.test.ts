import { afterAll, describe, expect, test } from "vitest";
import { createAnswerChecker } from "../../../environments/math/answer-checker.ts";

const checker = createAnswerChecker({ deadlineMs: 10_000 });
afterAll(() => checker[Symbol.asyncDispose]());

const raw = String.raw;
type Case = readonly [question: string, answer: string, gold: string | readonly string[]];

/** Answers with the right value that only repeat the question. */
const copied: readonly Case[] = [
  [raw`Simplify $\sqrt{12}$.`, raw`\sqrt{12}`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`\sqrt{ 12 }`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`(\sqrt{12})`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`1\cdot\sqrt{12}`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`\sqrt{12}+0`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`\frac{\sqrt{12}}{1}`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`\{\sqrt{12}\}`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`x = \sqrt{12}`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`\sqrt{12} = \sqrt{12}`, raw`2\sqrt{3}`],
  [raw`Let $a = \sqrt{12}$. What is $a$ in simplest radical form?`, raw`\sqrt{12}`, raw`2\sqrt{3}`],
  [raw`Simplify \(\sqrt{12}\).`, raw`\sqrt{12}`, raw`2\sqrt{3}`],
  ["Simplify sqrt(12).", "sqrt(12)", raw`2\sqrt{3}`],
  ["Simplify sqrt(12) + 1.", raw`\sqrt{12} + 1`, raw`2\sqrt{3} + 1`],
  [raw`Factor $x^2 - 1$.`, "x^2-1", "(x-1)(x+1)"],
  [raw`Expand $(x+1)^2$.`, "(x+1)^{2}", "x^2+2x+1"],
  [raw`Expand $(x+1) \cdot (x+2)$.`, "(x+1)(x+2)", "x^2+3x+2"],
  [raw`Write $\frac{2}{4}$ in lowest terms.`, "2/4", raw`\frac{1}{2}`],
  ["Write 2/4 in lowest terms.", raw`\frac{2}{4}`, raw`\frac{1}{2}`],
  ["Express 0.5 as a common fraction.", "0.5", raw`\frac12`],
  ["What is 50% as a fraction?", raw`50\%`, raw`\frac12`],
  ["Write 0.5 as a percentage.", "0.5", raw`50\%`],
  [raw`Write $y - 1 = 2(x + 3)$ in slope-intercept form.`, "y-1=2(x+3)", "y=2x+7"],
  [raw`Write $-2 < x < 3$ as an interval.`, "-2<x<3", "(-2,3)"],
  [raw`Evaluate $\sin 60^\circ$ exactly.`, raw`\sin 60^\circ`, raw`\frac{\sqrt3}{2}`],
];

/** Right answers, which may occur in the question. */
const kept: readonly Case[] = [
  [raw`Simplify $\sqrt{12}$.`, raw`2\sqrt{3}`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`\sqrt{12} = 2\sqrt{3}`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`\sqrt{3}\cdot 2`, raw`2\sqrt{3}`],
  [raw`Which is larger, $x^2$ or $x^2+1$?`, "x^2+1", "x^2+1"],
  [raw`Which is larger, $x^2$ or $x^2+1$?`, "1+x^2", "x^2+1"],
  [raw`Which of these is irrational: $\frac{2}{4}$, $\sqrt{2}$, $\sqrt{4}$?`, raw`\sqrt{2}`, raw`\sqrt2`],
  [raw`Choose one: (A) $\sqrt{12}$ (B) $\sqrt{13}$.`, raw`\sqrt{12}`, raw`\sqrt{12}`],
  [raw`Choose one: (A) $\sqrt{12}$ (B) $\sqrt{13}$.`, "(A)", "A"],
  ["Simplify $2x+1$.", "2x + 1", "2x+1"],
  ["A pen is $1.50. What is the price of one pen?", "$1.50", "1.5"],
  ["What is 5 + 0?", "5", "5"],
  ["A class of 12 has 6 girls. What part of it are girls?", raw`\frac{6}{12}`, raw`\frac{1}{2}`],
  ["50 of 100 apples are red. What part of them is it?", raw`50\%`, raw`\frac12`],
  ["What percent of 80 is 40, if 50% of 80 is 40?", raw`50\%`, "50"],
  [raw`An angle of $60^\circ$ is cut from one of $120^\circ$. What is left?`, raw`60^\circ`, "60"],
  [raw`Factor $x^2-1$.`, "(x+1)(x-1)", ["(x-1)(x+1)", "x^2-1"]],
  [raw`Factor $x^2-1$.`, "x^2-1", ["(x-1)(x+1)", "x^2-1"]],
];

async function isRight([question, answer, gold]: Case, text = `\\boxed{${answer}}`): Promise<boolean> {
  return (await checker.check({ text, gold, question })).correct;
}

describe("an answer that is copied from the question", () => {
  test.each(copied)("%s: %s, for %s, is wrong", async (...pair) => {
    expect(await isRight(pair)).toBe(false);
    expect(await isRight(pair, `So it is $${pair[1]}$`)).toBe(false);
    // Without the question it is right.
    expect(await isRight(["", pair[1], pair[2]])).toBe(true);
  });

  test("is wrong between words too", async () => {
    const [question, gold] = ["Write 2/4 in lowest terms.", "1/2"];
    expect(await isRight([question, "", gold], "so it would be 2/4 here")).toBe(false);
    expect(await isRight([question, "", gold], "so 2/4 would be 1/2 here")).toBe(true);
  });
});

test.each(kept)("%s: %s, for %s, is right", async (...pair) => {
  expect(await isRight(pair)).toBe(true);
});

test("a question of any content is read in little time", async () => {
  for (const piece of ["$", "\\(", "{", "(", "\\frac{", "=", "a ", "1 ", "+0", "$x$ ", "\\{"]) {
    await checker.check({ text: "\\boxed{x+1}", gold: "1+x", question: piece.repeat(20_000) });
  }
});
