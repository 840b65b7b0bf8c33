import { definedClasses } from "./python-names.ts";
import { readPythonStatements } from "./python-statements.ts";

/**
 * A line of a test that cannot be graded, and why.
 *
 * @example
 * import { type UngradableTest, ungradableTest } from "lyceum/sandbox";
 * const found: UngradableTest | undefined = ungradableTest(["assert half(4) == 2"]);
 * found; // => undefined
 */
export interface UngradableTest {
  readonly line: string;
  readonly reason: string;
  /** What the author of the test can do. */
  readonly hint: string;
}

/**
 * Returns the first line of Python tests that no sandbox can grade, or undefined. Such a test would fail for right code.
 * The tested code runs in a process of its own, so that it cannot receive objects whose class only the tests have.
 *
 * @example
 * import { ungradableTest } from "lyceum/sandbox";
 * const found = ungradableTest(["class Item:\n    pass\nassert total([Item()]) == 0"]);
 * found?.line; // => "assert total([Item()]) == 0"
 */
export function ungradableTest(tests: readonly string[]): UngradableTest | undefined {
  const lines = tests.flatMap((test) => test.split("\n"));
  for (const test of tests) {
    for (const name of definedClasses(test)) {
      const used = new RegExp(`(?<![\\w.]|class\\s+|raise\\s+|except\\s+)${name}\\b(?!\\s*=[^=])`, "u");
      const definition = new RegExp(`^${name}\\s*=[^=]`, "u");
      const line = lines.find((each) => used.test(each) && !definition.test(each));
      if (line === undefined || isOfTests(test, name)) continue;
      return {
        line: line.trim(),
        reason: `the tested code cannot receive objects of ${name}, a class that only the tests have`,
        hint: `Define ${name} in the prompt, before the requested function. Or compare plain values.`,
      };
    }
  }
  return undefined;
}

/** True for a class of tests, or of exceptions, which the tested code does not receive. */
function isOfTests(test: string, name: string): boolean {
  const definition = (readPythonStatements(test) ?? []).find(
    ({ tokens }) => tokens[0]!.text === "class" && tokens[1]?.text === name,
  );
  return definition?.tokens.some(({ text }) => text === "TestCase" || /(?:Error|Exception)$/.test(text)) === true;
}
