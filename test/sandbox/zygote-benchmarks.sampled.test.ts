import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { classEvalProblem } from "../../environments/class-completion/class-eval.ts";
import type { CodeProblem } from "../../environments/shared/code-benchmarks/code-problem.ts";
import { mbppProblem } from "../../environments/shared/code-benchmarks/mbpp.ts";
import { gradeCode } from "../../sandbox/grading/grade-code.ts";
import type { Sandbox } from "../../sandbox/index.ts";
import { shareOf } from "../tier.ts";
import { benchmarkFile, noBenchmarkData } from "./benchmark-data.ts";
import { zygoteBackends } from "./zygote-backends.ts";

/**
 * The problems of ClassEval that do not pass with only Python and NumPy. The README of code-benchmarks has the reasons.
 */
const packagesOfOthers = [28, 34, 38, 44, 45, 52, 69, 93];
const ofNumpy = [30, 51, 57, 59];
const unable = [17, 48, 84];

describe.each(zygoteBackends)("$name", (backend) => {
  const { open, missing } = backend;
  const share = <T>(cases: readonly T[]): T[] => shareOf(cases, { engine: zygoteBackends.indexOf(backend), of: 8 });
  const skipped = missing !== undefined || noBenchmarkData !== undefined;

  test.skipIf(skipped)(`every solution of MBPP passes ${noBenchmarkData ?? ""}`, async () => {
    const rows = readFileSync(benchmarkFile("mbpp.jsonl"), "utf8").trim().split("\n");
    const problems = rows.map((row) => mbppProblem(JSON.parse(row)));
    expect(problems).toHaveLength(974);
    await using sandbox = await open();
    expect(await failing(sandbox, share(problems))).toEqual([]);
  });

  test.skipIf(skipped)(`the solutions of ClassEval pass, except the listed ones ${noBenchmarkData ?? ""}`, async () => {
    const rows = JSON.parse(readFileSync(benchmarkFile("ClassEval_data.json"), "utf8")) as unknown[];
    await using sandbox = await open();
    const problems = share(rows.map(classEvalProblem));
    const failed = await failing(sandbox, problems);
    const missingHere = [...packagesOfOthers, ...(sandbox.info.packages.includes("numpy") ? [] : ofNumpy)];
    const numbers = failed.map((id) => Number(id.split("_")[1]));
    // A machine may have more packages than the image.
    const here = new Set(problems.map(({ id }) => Number(id.split("_")[1])));
    expect(numbers.filter((number) => !missingHere.includes(number))).toEqual(
      unable.filter((number) => here.has(number)),
    );
  });
});

async function failing(sandbox: Sandbox, problems: readonly CodeProblem[]): Promise<string[]> {
  const patient = {
    ...sandbox,
    execute: (request: Parameters<Sandbox["execute"]>[0]) =>
      sandbox.execute({ ...request, limits: { cpuMs: 20_000, wallMs: 120_000 } }),
  } as Sandbox;
  const grades = await Promise.all(
    problems.map(({ solution, suite }) => gradeCode({ sandbox: patient, code: solution!, suite })),
  );
  return problems.filter((_, i) => grades[i]!.infra || !grades[i]!.passed).map(({ id }) => id);
}
