import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { customProblem } from "../../environments/code/custom-problem.ts";
import { gradeCode, type Sandbox } from "../../sandbox/index.ts";
import { createPyodideSandbox } from "../../sandbox/pyodide/create-pyodide-sandbox.ts";
import { shareOf } from "../tier.ts";
import {
  callbacks,
  comparisons,
  earlyComparisons,
  honestClass,
  honestComparisons,
  honestFunctions,
  honestOpaqueClass,
  lyingClasses,
  lyingFunctions,
  objectProblems,
} from "./object-problems.ts";
import { runPython, type ZygoteBackend, zygoteBackends } from "./zygote-backends.ts";

const backends: readonly ZygoteBackend[] = [
  ...zygoteBackends,
  { name: "pyodide", open: createPyodideSandbox, missing: undefined },
];

interface Named {
  readonly name: string;
  readonly test: string;
}

/** The names of the tests that code passes. Each test runs in a process of its own. */
async function passed(
  sandbox: Sandbox,
  code: string,
  tests: readonly Named[],
  exports: string[],
  cpuMs = 2_000,
): Promise<string[]> {
  const results = tests.map(async (each) => {
    const task = { kind: "judge", tests: [each.test], exports } as const;
    const { cases } = await runPython(sandbox, { code, task, limits: { cpuMs, wallMs: 60_000 } });
    return cases[0]!.outcome === "returned" ? [each.name] : [];
  });
  return (await Promise.all(results)).flat();
}

describe.each(backends)("$name", (backend) => {
  const { open, missing } = backend;
  const share = <T>(cases: readonly T[]): T[] =>
    shareOf(cases, { engine: backends.indexOf(backend), of: backends.length });
  let sandbox: Sandbox;
  beforeAll(async () => {
    if (missing === undefined) sandbox = await open({ workers: 1 });
  });
  afterAll(async () => sandbox?.[Symbol.asyncDispose]());

  test.skipIf(missing !== undefined)("right solutions of tests over objects pass", async () => {
    const wrong = share(objectProblems).map(async ({ name, ...row }) => {
      const { suite } = customProblem({ prompt: "Write it.", ...row }, "python");
      const grade = await gradeCode({ sandbox, code: row.solution, suite });
      return grade.infra || !grade.passed ? [name, grade] : [];
    });
    expect((await Promise.all(wrong)).flat()).toEqual([]);
  });

  test.skipIf(missing !== undefined)("no class that lies equals another object, and honest ones do", async () => {
    const exports = ["P", "add"];
    const all = [...comparisons, ...earlyComparisons];
    const early = earlyComparisons.map(({ name }) => name);
    expect(await passed(sandbox, honestClass, all, exports)).toEqual([...honestComparisons, ...early]);
    // The expected object exists before the result. Only for a dataclass is it made later.
    const later = honestComparisons.filter((name) => name !== "the expected object first");
    expect(await passed(sandbox, honestOpaqueClass, all, exports)).toEqual(later);
    const held = share(lyingClasses).map(async ({ name, code }) => [name, await passed(sandbox, code, all, exports)]);
    expect(await Promise.all(held)).toEqual(share(lyingClasses).map(({ name }) => [name, []]));
  });

  test.skipIf(missing !== undefined)("functions of tests are called, and no lie about that passes", async () => {
    expect(await passed(sandbox, honestFunctions, callbacks, ["apply"])).toEqual(callbacks.map(({ name }) => name));
    const held = share(lyingFunctions).map(async ({ name, code }) => [
      name,
      await passed(sandbox, code, callbacks, ["apply"], 300),
    ]);
    expect(await Promise.all(held)).toEqual(share(lyingFunctions).map(({ name }) => [name, []]));
  });
});
