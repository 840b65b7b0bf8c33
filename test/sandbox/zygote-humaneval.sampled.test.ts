import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { shareOf } from "../tier.ts";
import { runPython, zygoteBackends } from "./zygote-backends.ts";

interface Problem {
  readonly task_id: string;
  readonly prompt: string;
  readonly entry_point: string;
  readonly canonical_solution: string;
  readonly test: string;
}

const file = join(process.env.LYCEUM_TEST_DATA ?? "../shared/data", "HumanEval.jsonl.gz");
const noData = existsSync(file) ? undefined : `skipped: no ${file}`;

describe.each(zygoteBackends.map((backend, engine) => ({ ...backend, engine })))("$name", ({
  open,
  missing,
  engine,
}) => {
  test.skipIf(missing !== undefined || noData !== undefined)(
    `judge: every canonical solution of HumanEval passes its own tests and fails those of the next problem ${noData ?? ""}`,
    async () => {
      const lines = gunzipSync(readFileSync(file)).toString().trim().split("\n");
      const problems = lines.map((line) => JSON.parse(line) as Problem);
      await using sandbox = await open();
      const judge = async (problem: Problem, solution: Problem): Promise<boolean> => {
        // The solution of another problem under this one's name: it is wrong, but it exists.
        const rename = solution === problem ? "" : `\n${problem.entry_point} = ${solution.entry_point}\n`;
        const { status, cases } = await runPython(sandbox, {
          code: solution.prompt + solution.canonical_solution + rename,
          task: {
            kind: "judge",
            setup: problem.prompt,
            tests: [problem.test, `check(${problem.entry_point})`],
            exports: [problem.entry_point],
          },
          limits: { cpuMs: 20_000, wallMs: 120_000 },
        });
        return status === "ok" && cases.every(({ outcome }) => outcome === "returned");
      };
      expect(problems).toHaveLength(164);
      const share = shareOf(problems, { engine, of: zygoteBackends.length });
      const right = await Promise.all(share.map((problem) => judge(problem, problem)));
      expect(share.filter((_, i) => !right[i]).map(({ task_id }) => task_id)).toEqual([]);
      const next = (problem: Problem): Problem => problems[(problems.indexOf(problem) + 1) % problems.length]!;
      const wrong = await Promise.all(share.map((problem) => judge(problem, next(problem))));
      expect(share.filter((_, i) => wrong[i]).map(({ task_id }) => task_id)).toEqual([]);
    },
  );
});
