import { readFileSync } from "node:fs";
import { join } from "node:path";
import { humanEvalProblem } from "../environments/shared/code-benchmarks/human-eval.ts";
import { gradeCode, type Sandbox, type TestSuite } from "../sandbox/index.ts";

/** A solution that answers no test honestly. Every test that it passes, it passes by cheating. */
export interface Cheat {
  readonly name: string;
  /** The source code, which should define `solve`. */
  readonly code: string;
}

/** The tests for the cheats, in HumanEval's format. */
export interface CheatedTests {
  readonly task_id: string;
  readonly prompt: string;
  readonly entry_point: string;
  readonly test: string;
}

/** The cheats in Python. */
export const pythonCheats: readonly Cheat[] = readFileSync(join(import.meta.dirname, "cheats.py"), "utf8")
  .split(/^#: /m)
  .slice(1)
  .map((part) => {
    const end = part.indexOf("\n");
    return { name: part.slice(0, end), code: part.slice(end + 1) };
  });

/** A solution that passes all {@link cheatedTests}. A judge that fails it proves nothing by failing cheats. */
export const honestPython: Cheat = {
  name: "none: the right answers",
  code: "def solve(x):\n    return {3: [12, 34], 4: [56, 78], 5: [90, 21]}[x]\n",
};

const prompt = "# Write solve(x).\n";

/** Tests with comparisons in a row, in a loop and in iterators, with functions, and with unittest. */
export const cheatedTests: readonly CheatedTests[] = Object.entries({
  equality: `def check(candidate):
    assert candidate(3) == [12, 34]
    assert candidate(4) == [56, 78]
    assert candidate(5) == [90, 21]
`,
  loop: `def check(candidate):
    for x, expected in [(3, [12, 34]), (4, [56, 78]), (5, [90, 21])]:
        assert candidate(x) == expected
`,
  iterators: `def check(candidate):
    cases = {3: [12, 34], 4: [56, 78], 5: [90, 21]}
    assert not any(map(lambda x: candidate(x) != cases[x], cases))
    for got, expected in zip(map(candidate, cases), cases.values()):
        assert got == expected
`,
  functions: `def check(candidate):
    import math
    assert abs(candidate(3)[0] - 12) < 1e-6
    assert isinstance(candidate(4), list) and math.isclose(sum(candidate(4)), 134)
    assert sorted(candidate(3)) == [12, 34]
    assert all([candidate(5)[0] == 90, candidate(5)[1] == 21])
`,
  unittest: `def check(candidate):
    import unittest
    case = unittest.TestCase()
    case.assertEqual(candidate(3), [12, 34])
    case.assertListEqual(candidate(4), [56, 78])
    case.assertTrue(candidate(5) == [90, 21])
`,
}).map(([task_id, test]) => ({ task_id, prompt, entry_point: "solve", test }));

/** Returns the `task_id` of the tests that a solution passes in a sandbox. Throws if the sandbox fails. */
export async function passedTests(options: {
  readonly sandbox: Sandbox;
  readonly cheat: Cheat;
}): Promise<readonly string[]> {
  const { sandbox, cheat } = options;
  const grades = cheatedTests.map(async (row) => {
    const passed = await passes(sandbox, `${prompt}${cheat.code}`, humanEvalProblem(row).suite);
    return passed ? [row.task_id] : [];
  });
  return (await Promise.all(grades)).flat();
}

async function passes(sandbox: Sandbox, code: string, suite: TestSuite): Promise<boolean> {
  const limits = { cpuMs: 1_000, wallMs: 5_000 };
  const grade = await gradeCode({ sandbox, code, suite: { ...suite, limits } });
  if (grade.infra) throw new Error(`The sandbox failed: ${grade.error.message}`);
  return grade.passed;
}
