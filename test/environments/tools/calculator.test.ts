import { array, assert, asyncProperty, constantFrom, string } from "fast-check";
import { expect, test } from "vitest";
import { calculate } from "../../../environments/tools/calculator.ts";

test.each([
  ["sqrt(16)", "4"],
  ["1e3", "1000"],
  ["sin(pi/2)", "1"],
  ["2^10 - 24", "1000"],
  ["2 ** 3 ** 2", "512"],
  ["-3^2", "-9"],
  ["0.1 + 0.2", "0.3"],
  ["94906265 * 94906265", "9007199136250225"],
  ["17 % 5", "2"],
  ["5!", "120"],
  ["log(e)", "1"],
  ["max(1, 7, 3)", "7"],
  ["2 pi - tau", "0"],
  ["1 / 3", "0.333333333333333"],
])("%s is %s", async (expression, value) => {
  expect(await calculate(expression)).toBe(value);
});

test.each([
  "9^9^9",
  "9^9^9^9^9^9",
  "10000000000!",
  "171!",
  "1/0",
  "0/0",
  "sqrt(-1)",
])("%s ends immediately, because its result is not a finite number", async (expression) => {
  await expect(calculate(expression)).rejects.toThrow(/not a finite number/);
});

test.each([
  "x = 5",
  "f(x) = x^2",
  "[1, 2, 3]",
  "zeros(10000, 10000)",
  "ones(1e9)",
  "1:100000000",
  '"text"',
  "{a: 1}",
  "{a: 1}.a",
  'evaluate("1+1")',
  'import("fs")',
  'parse("1").constructor',
  "cos.constructor",
  'cos["constructor"]("return process")()',
  "constructor",
  "toString",
  "combinations(1e15, 5e14)",
  "isPrime(9007199254740881)",
  "sum(1, 2)",
  "random()",
  "true ? 1 : 2",
  "1 < 2",
  "5 cm to inch",
  "1; 2",
  "1\n2",
  "2 and 3",
  "not 1",
  "",
  "   ",
  "1 +",
  "(",
  "((1)",
  "a",
  `${"(".repeat(200)}1${")".repeat(200)}`,
  `${"-".repeat(499)}1`.repeat(2),
  "1".repeat(501),
  "sqrt()",
  "sqrt(1, 2, 3)",
])("%s is rejected", async (expression) => {
  await expect(calculate(expression)).rejects.toThrow(Error);
});

test("any text gives a finite number or an error, and nothing else", async () => {
  const pieces = constantFrom(
    ..."0123456789.+-*/^%!(), ".split(""),
    ...["sqrt(", "mod(", "gcd(", "lcm(", "log(", "round(", "atan2(", "e", "pi", "1e308", "[", "]", "x", "=", ";", ":"],
  );
  const expressions = array(pieces, { maxLength: 60 }).map((parts) => parts.join(""));
  const holds = async (expression: string): Promise<void> => {
    const value = await calculate(expression).catch((error: unknown) => {
      expect(error).toBeInstanceOf(Error);
      return "0";
    });
    expect(Number.isFinite(Number(value))).toBe(true);
  };
  await assert(asyncProperty(expressions, holds), { numRuns: 5_000 });
  await assert(asyncProperty(string({ maxLength: 600 }), holds), { numRuns: 1_000 });
});
