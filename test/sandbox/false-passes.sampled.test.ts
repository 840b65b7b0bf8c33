import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cheatedTests, honestPython, passedTests, pythonCheats } from "../../bench/cheats.ts";
import { createPyodideSandbox } from "../../sandbox/pyodide/create-pyodide-sandbox.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { shareOf } from "../tier.ts";
import { type ZygoteBackend, zygoteBackends } from "./zygote-backends.ts";

const backends: readonly ZygoteBackend[] = [
  ...zygoteBackends,
  { name: "pyodide", open: createPyodideSandbox, missing: undefined },
];

test("there are many cheats, each with its own name", () => {
  expect(new Set(pythonCheats.map(({ name }) => name)).size).toBe(pythonCheats.length);
  expect(new Set(pythonCheats.map(({ code }) => code)).size).toBe(pythonCheats.length);
  expect(pythonCheats.length).toBeGreaterThanOrEqual(40);
});

describe.each(backends)("$name", (backend) => {
  const { open, missing } = backend;
  // Each cheat runs in one of the two faster sandboxes, and one in six in Pyodide too.
  const fast = zygoteBackends.indexOf(backend);
  const cheats =
    fast === -1
      ? shareOf(pythonCheats, { engine: 2, of: 6 })
      : shareOf(pythonCheats, { engine: fast, of: zygoteBackends.length });
  let sandbox: Sandbox;
  beforeAll(async () => {
    if (missing === undefined) sandbox = await open({ workers: 2 });
  });
  afterAll(async () => sandbox?.[Symbol.asyncDispose]());

  test.skipIf(missing !== undefined)("no cheat passes, and the honest solution passes", async () => {
    const passed = await Promise.all(cheats.map((cheat) => passedTests({ sandbox, cheat })));
    expect(cheats.flatMap(({ name }, i) => (passed[i]!.length > 0 ? [name, passed[i]] : []))).toEqual([]);
    expect(await passedTests({ sandbox, cheat: honestPython })).toEqual(cheatedTests.map(({ task_id }) => task_id));
  });
});
