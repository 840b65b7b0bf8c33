import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readBenchmarkRows } from "../../environments/shared/code-benchmarks/benchmark-row.ts";
import { humanEvalProblem } from "../../environments/shared/code-benchmarks/human-eval.ts";
import { createSandbox, gradeCode, type TestSuite } from "../../sandbox/index.ts";
import { benchmarkFile, noBenchmarkData } from "../sandbox/benchmark-data.ts";
import { soakBackends } from "./sandbox-backends.ts";

interface Right {
  readonly id: string;
  readonly code: string;
  readonly suite: TestSuite;
}

/** JavaScript that takes some 300 ms of processor time, as many times as HumanEval has problems. */
const javascript: readonly Right[] = Array.from({ length: 164 }, (_, i) => ({
  id: `sieve ${i}`,
  code: `function solve(n) {
  const sieve = new Uint8Array(n + 1);
  for (let i = 2; i * i <= n; i++) for (let j = i * i; j <= n; j += i) sieve[j] = 1;
  return sieve.subarray(2).reduce((count, composite) => count + 1 - composite, 0);
}`,
  suite: {
    kind: "calls",
    language: "javascript",
    function: "solve",
    tests: [{ args: [{ float: "5000000.0" }], expected: { float: "348513.0" } }],
  },
}));

let python: readonly Right[] = [];
const busy = Array.from({ length: 4 * availableParallelism() }, () =>
  spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }),
);
beforeAll(async () => {
  if (noBenchmarkData !== undefined) return;
  const problems = (await readBenchmarkRows(benchmarkFile("HumanEval.jsonl.gz"))).map(humanEvalProblem);
  python = problems.map(({ id, suite, solution }) => ({ id, suite, code: solution! }));
});
afterAll(() => {
  for (const child of busy) child.kill("SIGKILL");
});

describe.each(soakBackends)("$backend $missing", ({ backend, language, missing }) => {
  const noData = language === "python" ? noBenchmarkData : undefined;
  test.skipIf(missing !== "" || noData !== undefined)(
    `every right solution passes while four busy processes per processor run ${noData ?? ""}`,
    async () => {
      await using sandbox = await createSandbox({ backend, language });
      const rights = language === "python" ? python : javascript;
      const grades = await Promise.all(rights.map(({ code, suite }) => gradeCode({ sandbox, code, suite })));
      expect(busy.every(({ exitCode }) => exitCode === null)).toBe(true);
      const failing = grades.flatMap((grade, i) => {
        if (!grade.infra && grade.passed) return [];
        const { cpuMs, wallMs } = grade.infra ? { cpuMs: 0, wallMs: 0 } : grade.execution.usage;
        return [`${rights[i]!.id}: ${grade.status}, ${cpuMs} ms of ${wallMs} ms`];
      });
      expect(failing).toEqual([]);
      const cpu = grades.map((grade) => (grade.infra ? 0 : grade.execution.usage.cpuMs));
      console.log(`${backend}: ${rights.length} passed; at most ${Math.round(Math.max(...cpu))} ms of processor time`);
    },
  );
});
