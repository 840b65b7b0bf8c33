import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readBenchmarkRows } from "../../environments/shared/code-benchmarks/benchmark-row.ts";
import { humanEvalProblem } from "../../environments/shared/code-benchmarks/human-eval.ts";
import { gradeCode } from "../../sandbox/grading/grade-code.ts";
import type { TestSuite } from "../../sandbox/grading/test-suite.ts";
import { createPyodideSandbox } from "../../sandbox/pyodide/create-pyodide-sandbox.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { benchmarkFile, noBenchmarkData } from "../sandbox/benchmark-data.ts";

const changes = [
  "reprinted",
  "commented",
  "with tabs",
  "renamed",
  "reordered",
  "with_dead_code",
  "wrapped",
  "bound",
  "imported_under_other_names",
];
const limits = { cpuMs: 20_000, wallMs: 280_000 };
const transformer = readFileSync(join(import.meta.dirname, "equivalent_programs.py"), "utf8");

describe.skipIf(noBenchmarkData !== undefined)(
  `equivalent programs get the same grade ${noBenchmarkData ?? ""}`,
  () => {
    let sandbox: Sandbox;
    beforeAll(async () => {
      sandbox = await createPyodideSandbox({ workers: 2 });
    });
    afterAll(async () => sandbox?.[Symbol.asyncDispose]());

    /** Equivalent programs, by the kind of change. */
    const equivalents = async (code: string, entryPoint: string): Promise<Map<string, string>> => {
      const { cases } = await sandbox.execute({
        language: "python",
        files: { "main.py": transformer },
        entry: "main.py",
        task: { kind: "calls", function: "equivalents", cases: [{ args: [code, entryPoint] }] },
        limits,
      });
      const { list } = cases[0]!.value as { readonly list: readonly { readonly list: [string, string] }[] };
      return new Map(list.map((pair) => pair.list));
    };

    /** Returns which tests pass. */
    const passing = async (code: string, suite: TestSuite): Promise<readonly boolean[]> => {
      const grade = await gradeCode({ sandbox, code, suite: { ...suite, limits } });
      if (grade.infra) throw new Error(grade.error.message);
      expect(grade.status).toBe("ok");
      return grade.tests.map(({ passed }) => passed);
    };

    /** Wrong only for arguments whose text has an even length. */
    const spoilt = (code: string, entryPoint: string): string => `${code}
right_function = ${entryPoint}
def ${entryPoint}(*args):
    answer = right_function(*args)
    return [answer] if len(str(args)) % 2 == 0 else answer
`;

    test("HumanEval's solutions, right and broken", async () => {
      const problems = (await readBenchmarkRows(benchmarkFile("HumanEval.jsonl.gz"))).map(humanEvalProblem);
      const different: string[] = [];
      let mixed = 0;
      await Promise.all(
        problems.map(async ({ id, suite, solution, entryPoint }, i) => {
          const right = await equivalents(solution!, entryPoint);
          expect([...right.keys()]).toEqual(changes);
          for (const [change, code] of right) {
            if ((await passing(code, suite)).includes(false)) different.push(`${id} ${change}`);
          }
          const wrong = spoilt(solution!, entryPoint);
          const verdicts = await passing(wrong, suite);
          if (verdicts.includes(false) && verdicts.includes(true)) mixed++;
          const programs = [...(await equivalents(wrong, entryPoint))];
          for (const [change, code] of [programs[i % programs.length]!, programs[(i + 4) % programs.length]!]) {
            // The broken function must stay the last one with its name. In reverse order, the right one would be.
            if (change === "reordered" || change === "wrapped") continue;
            if (String(await passing(code, suite)) !== String(verdicts)) different.push(`${id}, spoilt, ${change}`);
          }
        }),
      );
      expect(different).toEqual([]);
      expect(problems).toHaveLength(164);
      expect(mixed).toBeGreaterThan(80);
    });
  },
);
