import { afterAll, beforeAll, expect, test } from "vitest";
import { createAnswerChecker } from "../../environments/math/answer-checker.ts";
import { type Disagreement, disagreements } from "./math-verify/disagreements.ts";
import { generatePairs, type PairWithKind } from "./math-verify/pairs.ts";
import { runPython } from "./python.ts";
import { providePythonEnvironment } from "./python-environment.ts";

interface JudgedPair {
  readonly pair: PairWithKind;
  readonly ours: boolean;
  readonly theirs: boolean;
}

const count = 2_000;
const pairs = generatePairs(count, 7);
const textOf = ({ answer, isReply }: PairWithKind): string =>
  isReply === true ? answer : `So it is $\\boxed{${answer}}$.`;

const checker = createAnswerChecker({ threads: 2, deadlineMs: 60_000 });
afterAll(() => checker[Symbol.asyncDispose]());

let judged: readonly JudgedPair[];
beforeAll(async () => {
  const environment = await providePythonEnvironment({
    name: "math-verify",
    requirements: "math-verify-requirements.txt",
    download: "20 MB",
  });
  const request = { pairs: pairs.map((pair) => ({ text: textOf(pair), golds: [pair.gold].flat() })), workers: 2 };
  const theirs = await runPython<readonly boolean[]>({ environment, script: "math_verify_verdicts", request });
  const ours = await Promise.all(pairs.map((pair) => checker.check({ text: textOf(pair), gold: pair.gold })));
  judged = pairs.map((pair, i) => ({ pair, ours: ours[i]!.correct, theirs: theirs[i]! }));
});

test("there are 2,000 different pairs of every kind, equal and unequal ones in each", () => {
  expect(new Set(pairs.map(({ answer, gold }) => JSON.stringify([answer, gold]))).size).toBe(count);
  for (const kind of Object.values(Object.groupBy(pairs, (pair) => pair.kind))) {
    expect(kind!.filter(({ equal }) => equal).length).toBeGreaterThanOrEqual(50);
    expect(kind!.filter(({ equal }) => !equal).length).toBeGreaterThanOrEqual(50);
  }
});

test("we are right about 98 % of them, and never accept a wrong answer", () => {
  const table = Object.entries(Object.groupBy(judged, ({ pair }) => pair.kind)).map(([kind, rows]) => ({
    kind,
    pairs: rows!.length,
    agree: rows!.filter(({ ours, theirs }) => ours === theirs).length,
    "ours right": rows!.filter(({ pair, ours }) => ours === pair.equal).length,
    "math-verify right": rows!.filter(({ pair, theirs }) => theirs === pair.equal).length,
  }));
  console.table(table);
  expect(judged.filter(({ pair, ours }) => ours && !pair.equal)).toEqual([]);
  const right = judged.filter(({ pair, ours }) => ours === pair.equal);
  expect(right.length).toBeGreaterThanOrEqual(0.98 * count);
});

test("every disagreement is adjudicated, and each class of them occurs", () => {
  const found = new Map<string, number>();
  for (const { pair, ours, theirs } of judged) {
    if (ours === theirs) continue;
    const adjudicated = classOf(pair);
    const right = ours === pair.equal ? "ours" : "math-verify";
    expect({ pair, class: adjudicated?.class, right }).toEqual({
      pair,
      class: expect.any(String),
      right: adjudicated?.right,
    });
    found.set(adjudicated!.class, (found.get(adjudicated!.class) ?? 0) + 1);
  }
  console.table(disagreements.map((row) => ({ class: row.class, right: row.right, pairs: found.get(row.class) ?? 0 })));
  expect([...found.keys()].sort()).toEqual(disagreements.map((row) => row.class).sort());
});

test("both are wrong on few pairs", () => {
  const shared = judged.filter(({ pair, ours, theirs }) => ours === theirs && ours !== pair.equal);
  expect(shared.length).toBeLessThanOrEqual(0.01 * count);
});

function classOf(pair: PairWithKind): Disagreement | undefined {
  const answer = /\\(?:boxed|fbox) ?\{\s*(.*?)\s*\}[^{}]*$/s.exec(textOf(pair))![1]!;
  return disagreements.find(({ holds }) => holds(pair, answer));
}
