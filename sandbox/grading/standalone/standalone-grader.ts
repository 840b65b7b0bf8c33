import { readdir, readFile } from "node:fs/promises";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { defaultLimits } from "../../limits.ts";
import type { Comparator } from "../comparator.ts";
import type { TestSuite } from "../test-suite.ts";

/** The comparators that `grade.py` knows. */
const comparators: readonly Comparator["kind"][] = ["exact", "loose", "strict", "close", "truthy", "falsy"];

const modules = new URL("../../python/", import.meta.url);

/**
 * Returns the files of a program that grades Python code without Lyceum, by path: `grade.py`, its modules and the test
 * suite. `before` is source code that runs before the tested code. Root starts it as
 * `python3 -I -B grade.py FILE AGENT`, where `AGENT` is the id of a user whose processes it ends. It writes the reward to
 * `/logs/verifier/reward.json`: 0.05 for syntax, 0.05 for the definition and 0.9 for the share of hidden tests that pass.
 * It needs Linux and Python 3.9 or newer. Throws `config.invalid` for suites of another kind or language.
 */
export async function standaloneGrader(suite: TestSuite, before: string): Promise<Readonly<Record<string, string>>> {
  if (suite.language !== "python")
    throw unsupported(`its tests are in ${suite.language}, and only Python is supported`);
  if (suite.kind === "program") throw unsupported("its tests run a program");
  const other = suite.kind === "calls" ? suite.tests.find(({ comparator }) => !isKnown(comparator)) : undefined;
  if (other !== undefined) throw unsupported(`a test compares results by "${other.comparator!.kind}"`);
  const { depth, resultBytes: size, ...limits } = { ...defaultLimits, ...suite.limits };
  const files: Record<string, string> = {
    "grade.py": await readFile(new URL("grade.py", import.meta.url), "utf8"),
    "suite.json": `${JSON.stringify({ suite, before, limits: { ...limits, depth, size } })}\n`,
    "grader/__init__.py": "",
  };
  for (const name of await readdir(modules)) {
    if (name.endsWith(".py")) files[`grader/${name}`] = await readFile(new URL(name, modules), "utf8");
  }
  return files;
}

function isKnown(comparator: Comparator | undefined): boolean {
  return comparator === undefined || comparators.includes(comparator.kind);
}

function unsupported(problem: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `The task cannot be graded outside of Lyceum: ${problem}.`,
    hint: "Leave the task out by a split such as test[:10], or serve the environment by lyceum serve.",
  });
}
