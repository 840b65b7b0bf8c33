import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import {
  extractGsm8kAnswer,
  type Gsm8kFilter,
  matchesGsm8k,
} from "../../environments/shared/benchmarks/gsm8k-extraction.ts";
import { createRandom, type Random } from "../../src/core/random/random.ts";
import { benchmarkFile, noBenchmarkData } from "../sandbox/benchmark-data.ts";
import { runPython } from "./python.ts";
import { providePythonEnvironment } from "./python-environment.ts";

/** The answer that lm-evaluation-harness extracts from an output, by the name of its filter. */
type Reading = Readonly<
  Record<"strict-match" | "flexible-extract", { readonly extracted: string; readonly match: boolean }>
>;

interface Output {
  readonly text: string;
  /** As the data set has it. */
  readonly answer: string;
}

const pieces = [
  "#",
  "####",
  "#### ",
  " ",
  "\n",
  ".",
  ",",
  "$",
  "-",
  "0",
  "12",
  "1,234",
  "3.50",
  "$5",
  "٣",
  "½",
  "The answer is ",
  "=",
  "[invalid]",
  "\u00a0",
];

/** A text made of pieces of answers and of pieces that look like answers. */
function noise(random: Random): string {
  return Array.from({ length: random.integer(0, 9) }, () => random.pick(pieces)).join("");
}

/** Ways in which models state an answer, right or not. */
const manners: readonly ((answer: string, random: Random) => string)[] = [
  (answer) => answer,
  (answer) => answer.replace("#### ", "####"),
  (answer) => answer.replace("#### ", "The answer is $").concat("."),
  (answer) => answer.replace(/#### (.*)/, "#### **$1**"),
  (answer) => `${answer}\n\nQuestion: how much is 7 + 8?\nAnswer: 15\n#### 15`,
  (answer, random) => answer.slice(0, random.integer(0, answer.length)),
  (answer, random) => answer.replace(/\d/g, (digit) => (random.next() < 0.1 ? String(random.integer(0, 9)) : digit)),
  (answer, random) => answer + noise(random),
  (answer, random) => `${noise(random)}${answer.replace(/#### /, noise(random))}`,
  (_, random) => noise(random),
];

describe.skipIf(noBenchmarkData !== undefined)(`lm-evaluation-harness ${noBenchmarkData ?? ""}`, () => {
  let outputs: Output[];
  let theirs: Reading[];

  beforeAll(async () => {
    const environment = await providePythonEnvironment({
      name: "lm-eval",
      requirements: "lm-eval-requirements.txt",
      download: "35 MB",
    });
    const text = await readFile(benchmarkFile("gsm8k-test.jsonl"), "utf8");
    const answers = text
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as Output).answer);
    const random = createRandom(8);
    outputs = answers.flatMap((answer) => manners.map((manner) => ({ text: manner(answer, random), answer })));
    theirs = await runPython({ environment, script: "gsm8k_matches", request: outputs as never });
  });

  test.each([
    ["strict-match", "strict"],
    ["flexible-extract", "flexible"],
  ] as const satisfies readonly (readonly [
    keyof Reading,
    Gsm8kFilter,
  ])[])("%s extracts the same answers", (name, filter) => {
    const different: unknown[] = [];
    const counts = { right: 0, wrong: 0, invalid: 0 };
    for (const [index, { text, answer }] of outputs.entries()) {
      const their = theirs[index]![name];
      const extracted = extractGsm8kAnswer(text, filter);
      const match = matchesGsm8k(text, { filter, gold: answer });
      counts[their.extracted === "[invalid]" ? "invalid" : their.match ? "right" : "wrong"] += 1;
      if (extracted !== their.extracted || match !== their.match)
        different.push({ text, answer, their, extracted, match });
    }
    console.log(`${name}: ${outputs.length} outputs, ${JSON.stringify(counts)}`);
    expect(different).toEqual([]);
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(500);
  });
});
