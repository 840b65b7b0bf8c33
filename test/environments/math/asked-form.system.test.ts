import { afterAll, describe, expect, test } from "vitest";
import { createAnswerChecker } from "../../../environments/math/answer-checker.ts";

const checker = createAnswerChecker({ deadlineMs: 10_000 });
afterAll(() => checker[Symbol.asyncDispose]());

const raw = String.raw;
type Case = readonly [question: string, answer: string, gold: string | readonly string[]];

/** Answers with the right value that are not in the requested form. */
const unfinished: readonly Case[] = [
  [raw`Simplify $\sqrt{12}$.`, raw`\sqrt{4\cdot3}`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`\sqrt{4}\sqrt{3}`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`- -\sqrt{12}`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`\frac{\sqrt{48}}{2}`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`12^{1/2}`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`\sqrt{3}+\sqrt{3}`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`\frac{6}{\sqrt{3}}`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`2\sqrt{3}+0\pi`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`2\sqrt{3} = \sqrt{4\cdot3}`, raw`2\sqrt{3}`],
  [raw`Write $\sqrt{\frac{2}{3}}$ in simplest radical form.`, raw`\frac{\sqrt{2}}{\sqrt{3}}`, raw`\frac{\sqrt{6}}{3}`],
  [raw`Write $\sqrt{\frac{2}{3}}$ in simplest radical form.`, raw`\sqrt{\frac{4}{6}}`, raw`\frac{\sqrt{6}}{3}`],
  [raw`What is $\sqrt[3]{16}$ in simplest form?`, raw`\sqrt[3]{8 \cdot 2}`, raw`2\sqrt[3]{2}`],
  [raw`Simplify $\frac{2+\sqrt{8}}{4}$.`, raw`\frac{2+2\sqrt{2}}{4}`, raw`\frac{1+\sqrt{2}}{2}`],
  [raw`Simplify $2x+3x+1$.`, "3x+2x+1", "5x+1"],
  [raw`Simplify $2x+3x+1$.`, "5x+2-1", "5x+1"],
  [raw`Simplify $x \cdot x^2$.`, raw`x^2\cdot x`, "x^3"],
  [raw`Simplify $(x^2)^3$.`, "(x^3)^2", "x^6"],
  [raw`Simplify $(x+1)(x+2)$.`, "(x+2)(x+1)", "x^2+3x+2"],
  [raw`Simplify $\frac{x^2-1}{x-1}$.`, raw`\frac{(x-1)(x+1)}{x-1}`, "x+1"],
  [raw`Simplify $\frac{x^2-1}{x-1}$.`, raw`\frac{-1+x^2}{-1+x}`, "x+1"],
  [raw`Simplify $\frac{6x}{8}$.`, raw`\frac{12x}{16}`, raw`\frac{3x}{4}`],
  [raw`Simplify $\frac{1}{1+\frac{1}{x}}$.`, raw`\frac{1}{\frac{1}{x}+1}`, raw`\frac{x}{x+1}`],
  [raw`Write $\frac{4}{8}$ in lowest terms.`, raw`\frac{2}{4}`, raw`\frac{1}{2}`],
  ["Write 4/8 in lowest terms.", "2/4", "1/2"],
  [raw`Expand $(x+1)(x+2)$.`, "(x+2)(x+1)", "x^2+3x+2"],
  [raw`Expand $(x+1)^2$.`, "(x+1)(x+1)", "x^2+2x+1"],
  [raw`Factor $x^2-9$.`, "-9+x^2", "(x-3)(x+3)"],
  [raw`Factor $x^2-9$.`, "-(9-x^2)", "(x-3)(x+3)"],
  [raw`Factor $2x^3-18x$ completely.`, "2x(x^2-9)", "2x(x-3)(x+3)"],
  ["Simplify 12/8.", "6/4", "3/2"],
];

/** Answers in simple form, in any variant. */
const simple: readonly Case[] = [
  [raw`Simplify $\sqrt{12}$.`, raw`2\sqrt{3}`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`\sqrt{3} \cdot 2`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`\sqrt{4\cdot3} = 2\sqrt{3}`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{12}$.`, raw`(2)\left(\sqrt{3}\right)`, raw`2\sqrt{3}`],
  [raw`Simplify $\sqrt{\frac{2}{3}}$.`, raw`\frac{1}{3}\sqrt{6}`, raw`\frac{\sqrt{6}}{3}`],
  [raw`Simplify $2x+3x+1$.`, "1+5x", "5x+1"],
  [raw`Simplify $2(x+1)$.`, "2(1+x)", ["2x+2", "2(x+1)"]],
  [raw`Simplify $2x+x+2-x$.`, "2(x+1)", "2x+2"],
  [raw`Simplify $\frac{3x}{6}$.`, raw`\frac{1}{2}x`, raw`\frac{x}{2}`],
  [raw`Simplify $\frac{3x}{6}$.`, "0.5x", raw`\frac{x}{2}`],
  [raw`Simplify $\frac{2x+1}{2}$.`, raw`x+\frac{1}{2}`, raw`\frac{2x+1}{2}`],
  [raw`Simplify $\frac{x^2-1}{x-1}$.`, "1+x", "x+1"],
  [raw`Simplify $\frac{1}{x}+\frac{1}{y}$.`, raw`\frac{y+x}{xy}`, raw`\frac{x+y}{xy}`],
  [raw`Simplify $2^3 \cdot 2^7$, as a power of 2.`, "2^{10}", "2^{10}"],
  [raw`Simplify $(x+1)(x+1)$.`, "(1+x)^2", "(x+1)^2"],
  [raw`Simplify $(2+i)+(1+i)$.`, "2i+3", "3+2i"],
  [raw`Simplify $\log 4 + \log 3$.`, raw`\log 12`, raw`\log 12`],
  [raw`Solve for $x$ in simplest form: $x^2 = 12$.`, raw`x = \pm 2\sqrt{3}`, raw`\pm 2\sqrt{3}`],
  [raw`Write $\frac{4}{8}$ in lowest terms.`, raw`\frac{1}{2}`, raw`\frac{1}{2}`],
  ["Simplify 12/4.", "3", "3"],
  ["Simplify 6/4.", "1.5", "3/2"],
  ["Simplify 6/4.", raw`1\frac{1}{2}`, "3/2"],
  [raw`Factor $x^2-9$.`, "(3+x)(x-3)", "(x-3)(x+3)"],
  [raw`Factor $x^2-9$.`, "-(x+3)(3-x)", "(x-3)(x+3)"],
  [raw`Factor $x^2+2x+1$.`, "(1+x)(x+1)", "(x+1)^2"],
  [raw`Which is a factor of $x^2-9$, $3+x$ or $x$?`, "x+3", "x+3"],
  ["What is the greatest common factor of 12 and 18?", "6", "6"],
  // No form is requested.
  [raw`What is the side of a square of area 12?`, raw`\sqrt{4\cdot3}`, raw`2\sqrt{3}`],
  ["A class of 12 has 6 girls. What part of it are girls?", "6/12", "1/2"],
];

describe("if the question requests a form", () => {
  test.each(unfinished)("%s: %s, for %s, is wrong", async (question, answer, gold) => {
    expect((await checker.check({ text: `\\boxed{${answer}}`, gold, question })).correct).toBe(false);
    // Without the question it is right.
    const { correct } = await checker.check({ text: `\\boxed{${answer}}`, gold, question: "What is it?" });
    expect(correct).toBe(true);
  });

  test.each(simple)("%s: %s, for %s, is right", async (question, answer, gold) => {
    expect((await checker.check({ text: `\\boxed{${answer}}`, gold, question })).correct).toBe(true);
  });
});
