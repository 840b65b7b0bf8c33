import { describe, expect, it } from "vitest";
import { extractGsm8kAnswer, matchesGsm8k } from "../../../../environments/shared/benchmarks/gsm8k-extraction.ts";

/** Outputs, with the answers that the harness's strict and flexible filters extract. */
const outputs: readonly [text: string, strict: string, flexible: string][] = [
  ["She has 5 + 3 = <<5+3=8>>8 apples.\n#### 8", "8", "8"],
  ["#### 1,234.50", "1,234.50", "1,234.50"],
  ["#### -7 and then #### 9", "-7", "9"],
  ["The answer is $18.", "[invalid]", "$18."],
  ["####18", "[invalid]", "18"],
  ["#### $18", "[invalid]", "$18"],
  ["I do not know.", "[invalid]", "[invalid]"],
  ["", "[invalid]", "[invalid]"],
  ["-5", "[invalid]", "-5"],
  ["1... 2... 7", "[invalid]", "7"],
  ["#### 12.", "12.", "12."],
  ["three hundred, or 300 dollars, ok", "[invalid]", "300"],
];

describe("answers of GSM8K as extracted by lm-evaluation-harness", () => {
  it.each(outputs)("%j", (text, strict, flexible) => {
    expect(extractGsm8kAnswer(text, "strict")).toBe(strict);
    expect(extractGsm8kAnswer(text, "flexible")).toBe(flexible);
  });

  it.each([
    ["#### 1,234", "1234", true],
    ["#### 12.", "12", true],
    ["the total is $18.", "18", true],
    ["#### 18.0", "18", false],
    ["#### 19", "18", false],
    ["nothing", "18", false],
  ])("%j matches %j: %j", (text, gold, matches) => {
    expect(matchesGsm8k(text, { filter: "flexible", gold })).toBe(matches);
    expect(matchesGsm8k(text, { filter: "flexible", gold: `Work.\n#### ${gold}` })).toBe(matches);
  });
});
