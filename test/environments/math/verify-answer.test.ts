import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifyAnswer } from "../../../environments/math/verify-answer.ts";

const right = (text: string, gold: string): void => expect(verifyAnswer(text, gold)).toMatchObject({ correct: true });
const wrong = (text: string, gold: string): void => expect(verifyAnswer(text, gold)).toMatchObject({ correct: false });

describe("notations of a number", () => {
  test.each([
    ["46", "46"],
    ["46.", "46"],
    ["+46", "46"],
    ["  46\n", "46"],
    ["46.0", "46"],
    ["046", "46"],
    ["-5", "-5"],
    ["- 5", "-5"],
    ["\u22125", "-5"],
    ["(-5)", "-5"],
    ["1,234", "1234"],
    ["1,234,567.50", "1234567.5"],
    ["1{,}234", "1234"],
    ["1\\,234", "1234"],
    [".5", "0.5"],
    ["1/2", "0.5"],
    ["2/4", "1/2"],
    ["-3/6", "-0.5"],
    ["3 / 4", "0.75"],
    ["2 1/2", "2.5"],
    ["-2 1/2", "-2.5"],
    ["2\\frac{1}{2}", "5/2"],
    ["2 \\frac 12", "5/2"],
    ["\\frac{1}{2}", "0.5"],
    ["-\\dfrac{3}{4}", "-0.75"],
    ["\\tfrac12", "1/2"],
    ["\\frac{-1}{2}", "-1/2"],
    ["1.5e3", "1500"],
    ["1.5E-2", "0.015"],
    ["1.5 \\times 10^{3}", "1500"],
    ["1.5 × 10^-3", "3/2000"],
    ["2*10^2", "200"],
    ["1.5 million", "1500000"],
    ["3 hundred", "300"],
    ["50%", "0.5"],
    ["50\\%", "50"],
    ["50 percent", "50"],
    ["0.5", "50%"],
    ["50", "50%"],
    ["50%", "50%"],
    ["$18", "18"],
    ["\\$18.00", "18"],
    ["$18$", "18"],
    ["-$5", "-5"],
    ["$-5", "-5"],
    ["€ 5", "5"],
    ["18 dollars", "18"],
    ["18 cm^2", "18"],
    ["5kg", "5"],
    ["80°", "80"],
    ["$5/hour", "5"],
    ["60 km/h", "60"],
    ["5-year", "5"],
    ["5\\text{ apples}", "5"],
    ["**42**", "42"],
    ["*42*", "42"],
    ["`42`", "42"],
    ["x = 3", "3"],
    ["x=-7/2", "-7/2"],
    ["3", "x = 3"],
    ["12+34=46", "46"],
    ["1 234", "1234"],
    ["3,5", "3.5"],
    ["5 + 3 = 8.", "8"],
    ["10 - 4 = -(-6) = 6", "6"],
    ["There are 7 boxes of 6, so 42", "42"],
    ["She has 5!", "5"],
  ])("%j is %s", right);

  test.each([
    ["0.33", "1/3"],
    ["0.3333333333333333333333333333", "1/3"],
    ["1000000000000000000000000000001", "1000000000000000000000000000000"],
    ["9007199254740993", "9007199254740992"],
    ["0.1", "0.10000000000000000001"],
    ["5000%", "50%"],
    ["5", "-5"],
    ["1,23", "123"],
    ["12,34", "1234"],
    ["0,123", "123"],
    ["1/0", "0"],
    ["", "0"],
    ["none", "0"],
    ["NaN", "0"],
    ["Infinity", "0"],
    ["0x10", "16"],
    ["ten", "10"],
    ["The answer is half of 46.", "46"],
    ["The answer is the square root of 46.", "46"],
    ["The answer is 46 squared.", "46"],
    ["The answer is 46 times 2.", "46"],
    ["The answer is 46 times 2.", "2"],
    ["The answer is more than 46.", "46"],
  ])("%j is not %s", wrong);
});

describe("stated answers", () => {
  test.each([
    ["2 + 2 = 5\n#### 4", "4"],
    ["#### 4\nwhich is 2 + 2, of course", "4"],
    ["####4", "4"],
    ["#### $1,234.00", "1234"],
    ["#### x = 4", "4"],
    ["The answer is 4.", "4"],
    ["the answer is: 4 apples.", "4"],
    ["The answer is 4, because 1 + 3 = 4.", "4"],
    ["**Answer:** 4", "4"],
    ["**Final Answer**: 4", "4"],
    ["Final answer = 4", "4"],
    ["Answer:\n\n4", "4"],
    ["The answer to this is exactly 4 and not more", "4"],
    ["The final answer is \\boxed{4}. I used 2 and 2.", "4"],
    ["\\boxed{\\frac{8}{6}}", "4/3"],
    ["\\[ \\boxed{ x = 4 } \\]", "4"],
    ["$\\boxed{\\text{4 apples}}$", "4"],
    ["\\fbox{4}", "4"],
    ["<answer>4</answer> 7", "4"],
    ["<answer>\n4\n</answer>", "4"],
    ["The answer is 5. No: the answer is 4.", "4"],
    ["\\boxed{5} wait \\boxed{4}", "4"],
    ["#### 5\n#### 4", "4"],
    ["\\boxed{4} and then \\boxed{5", "4"],
    ["The answer is 3 + 1 = 4", "4"],
    ["The answer is 4 or, in other words, 4.0", "4"],
  ])("%j states %s", right);

  test.each([
    ["\\boxed{4} \\boxed{5}", "4"],
    ["#### 4\n#### 5", "4"],
    ["The answer is 4 or 5", "4"],
    ["The answer is 4, 5 or 6", "4"],
    ["The answer is 4, 5", "4"],
    ["The answer is 4 and 5", "5"],
    ["\\boxed{4/5/6}", "4"],
    ["\\boxed{4;5}", "4"],
    ["\\boxed{2+2}", "2"],
    ["\\boxed{2^{2}}", "2"],
    ["\\boxed{2\\sqrt{4}}", "2"],
    ["\\boxed{\\sqrt{4}}", "4"],
    ["\\boxed{4\\pi}", "4"],
    ["\\boxed{4x}", "4"],
    ["\\boxed{x4}", "4"],
    ["\\boxed{x^4}", "4"],
    ["\\boxed{4:5}", "4"],
    ["\\boxed{(2)(2)}", "2"],
    ["\\boxed{}", "4"],
    ["The answer is unknown. 4", "4"],
    ["12+34", "34"],
    ["12+34", "12"],
    ["2*4", "4"],
    ["8-4", "4"],
    ["8 - 4", "-4"],
    ["8/4", "4"],
    ["8/4", "2"],
    ["5/1", "5"],
    ["84 / 7", "12"],
    ["-84/7", "-12"],
    ["\\boxed{\\frac{84}{7}}", "12"],
    ["1.5/0.5", "3"],
    [`4 ${"9".repeat(500)}`, "4"],
    ["4 1/0", "4"],
    ["4, but it could be 5", "4"],
    ["3.14.15", "15"],
    ["v4", "4"],
  ])("%j does not state %s", wrong);

  test("the verdict reports the mark of the answer, and why none was found", () => {
    expect(verifyAnswer("#### 4", "4")).toEqual({ correct: true, extracted: "4", mark: "hashes" });
    expect(verifyAnswer("4", "5")).toEqual({ correct: false, extracted: "4", mark: "none" });
    expect(verifyAnswer("hm", "5")).toEqual({ correct: false, reason: "It states no number.", mark: "none" });
  });
});

describe("inequalities", () => {
  test.each([
    ["x < 3", "x < 3"],
    ["x<3", "x < 3"],
    ["3 > x", "x < 3"],
    ["X \\le 3", "x <= 3"],
    ["x \\leq \\frac{6}{4}", "x <= 3/2"],
    ["x ≤ 3.0", "x <= 3"],
    ["x =< 3", "x <= 3"],
    ["-3 >= y", "y <= -3"],
    ["#### n >= -7/2", "n >= -7/2"],
    ["2x + 1 < 7\n2x < 6\nx < 3", "x < 3"],
    ["2x < 6, so x < 3", "x < 3"],
    ["2x < 6 => x < 3", "x < 3"],
    ["2x < 6 \\implies x < 3.", "x < 3"],
    ["The answer is \\boxed{x < 3}.", "x < 3"],
  ])("%j means %s", right);

  test.each([
    ["3", "x < 3"],
    ["x = 3", "x < 3"],
    ["x > 3", "x < 3"],
    ["x <= 3", "x < 3"],
    ["x < 4", "x < 3"],
    ["y < 3", "x < 3"],
    ["2x < 3", "x < 3"],
    ["-x < 3", "x < 3"],
    ["x + 1 < 3", "x < 3"],
    ["x < 3 + 1", "x < 3"],
    ["x < 3x", "x < 3"],
    ["2 < x < 3", "x < 3"],
    ["x < 3 or x > 3", "x > 3"],
    ["x < 3 and x > 2", "x > 2"],
    ["max < 3", "x < 3"],
    ["3 > xy", "x < 3"],
    ["<", "x < 3"],
    ["x < ", "x < 3"],
  ])("%j does not mean %s", wrong);
});

describe("other answers are compared as text", () => {
  test.each([
    ["The answer is Monday.", "Monday"],
    ["\\boxed{ (1, 2) }", "(1,2)"],
    ["I think\nyes", "yes"],
  ])("%j is %s", right);
  test.each([
    ["Tuesday", "Monday"],
    ["", "Monday"],
    ["Monday or Tuesday", "Monday"],
  ])("%j is not %s", wrong);
});

describe("properties", () => {
  const integer = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n });

  test("an integer is right in each of its notations, and its neighbour in none", () => {
    fc.assert(
      fc.property(integer, (value) => {
        const absolute = String(value < 0n ? -value : value);
        const sign = value < 0n ? "-" : "";
        const grouped = absolute.replace(/\B(?=(\d{3})+$)/g, ",");
        const notations = [
          `${sign}${absolute}`,
          `${sign}${grouped}`,
          `${sign}$${grouped}.00`,
          `\\boxed{${sign}${absolute}}`,
          `${sign}${absolute}e0`,
        ];
        for (const text of notations) {
          right(text, String(value));
          wrong(text, String(value + 1n));
        }
        wrong(`${value * 7n}/7`, String(value));
      }),
    );
  });

  test("fractions are compared by value", () => {
    fc.assert(
      fc.property(
        integer,
        fc.bigInt({ min: 1n, max: 10n ** 9n }),
        fc.bigInt({ min: 2n, max: 99n }),
        (top, bottom, factor) => {
          fc.pre(top % bottom !== 0n);
          right(`\\frac{${top * factor}}{${bottom * factor}}`, `${top}/${bottom}`);
          wrong(`${top * factor + 1n}/${bottom * factor}`, `${top}/${bottom}`);
        },
      ),
    );
  });

  test("any text gets a verdict: an answer that was read, or the reason why none was", () => {
    const alphabet = [..."0123456789.,-+/*^%$=<>xe {}()\\\n#", "\\frac{", "\\boxed{", "answer is ", "####", "<answer>"];
    const text = fc.string({ unit: fc.constantFrom(...alphabet), maxLength: 60 });
    fc.assert(
      fc.property(text, fc.constantFrom("7", "-1/2", "50%", "x < 3", "Monday"), (text, gold) => {
        const { correct, extracted, reason } = verifyAnswer(text, gold);
        expect(extracted === undefined).toBe(reason !== undefined);
        if (extracted === undefined) expect(correct).toBe(false);
        else if (gold !== "50%") expect(correct).toBe(extracted === gold.toLowerCase() || extracted === `${gold}%`);
      }),
      { numRuns: 2000 },
    );
  });

  test("a reason never contains the answer", () => {
    for (const text of ["", "?", "2+2", "\\boxed{1 or 2}", "x"]) {
      for (const gold of ["98765", "x < 98765"])
        expect(JSON.stringify(verifyAnswer(text, gold))).not.toContain("98765");
    }
  });
});

describe("hostile texts take little time", () => {
  test.each([
    ["a long number", "9".repeat(200_000)],
    ["many numbers", "1 ".repeat(100_000)],
    ["a huge exponent", "1e999999999"],
    ["a huge power", "1 × 10^999999999"],
    ["a long fraction", `\\frac{${"1".repeat(50_000)}}{${"2".repeat(50_000)}}`],
    ["separators", "1,111".repeat(40_000)],
    ["open braces", "\\boxed{".repeat(20_000)],
    ["open tags", "<answer>".repeat(20_000)],
    ["answers", "answer is ".repeat(20_000)],
    ["the word alone", "answer ".repeat(20_000)],
    ["hashes", "####".repeat(20_000)],
    ["relations", "x<".repeat(50_000)],
    ["blanks", " ".repeat(200_000)],
    ["minus signs", "-".repeat(200_000)],
    ["open text commands", "\\text{".repeat(20_000)],
    ["open fractions", "\\frac{1".repeat(20_000)],
    ["letters", "x".repeat(200_000)],
    ["fractions", "1/".repeat(50_000)],
    ["stars", "*".repeat(200_000)],
    ["verbs", "The sum is ".repeat(20_000)],
    ["open alignments", "\\begin{align}".repeat(20_000)],
    ["open displays", "\\[ ".repeat(50_000)],
    ["dollar signs", "$$\n".repeat(50_000)],
    ["notes", "\nnote ".repeat(30_000)],
    ["ellipses", "1.333...".repeat(20_000)],
    ["thin spaces", "1\\,".repeat(50_000)],
    ["chat markers", "<|im_end|>".repeat(20_000)],
    ["open remarks", " (since ".repeat(20_000)],
    ["line ends", "\n".repeat(200_000)],
    ["dashes", "—".repeat(200_000)],
    ["escaped blanks", "\\ ".repeat(100_000)],
    ["hard blanks", `5${"~".repeat(200_000)}\\x`],
    ["bold switches", "\\bf ".repeat(50_000)],
    ["alternatives", "5 or ".repeat(40_000)],
    ["denials", "not ".repeat(50_000)],
    ["list items", "- 1\n".repeat(50_000)],
    ["open infix fractions", "{a \\over ".repeat(20_000)],
    ["vulgar fractions", "⅔".repeat(100_000)],
  ])("%s", (_name, text) => {
    for (const gold of ["7", "x < 3", "Monday"]) {
      const verdict = verifyAnswer(text, gold);
      expect(verdict.correct).toBe(false);
      right(`${text}\n#### ${gold}`, gold);
    }
  });
});
