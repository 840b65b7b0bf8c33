import type { CallTest, TestSuite } from "../../../sandbox/grading/test-suite.ts";
import { showPlainValue } from "../../../sandbox/plain-value-text.ts";

/** Returns the source code of a suite's visible tests, with their index. */
export function visibleTests(suite: TestSuite): readonly { readonly index: number; readonly text: string }[] {
  return suite.tests.flatMap((test, index) => {
    if (test.visible !== true) return [];
    if ("code" in test) return [{ index, text: test.code }];
    if ("stdin" in test) return [{ index, text: `${test.stdin} -> ${test.expected}` }];
    return [{ index, text: showCallTest(suite, test) }];
  });
}

function showCallTest(suite: TestSuite, { args, kwargs = {}, expected, comparator }: CallTest): string {
  const { language } = suite;
  const show = (value: typeof expected): string => showPlainValue(value, { language });
  const named = Object.entries(kwargs).map(([key, value]) => `${key}=${show(value)}`);
  const call = `${suite.kind === "calls" ? suite.function : ""}(${[...args.map(show), ...named].join(", ")})`;
  if (comparator?.kind === "truthy") return call;
  if (comparator?.kind === "falsy") return language === "python" ? `not ${call}` : `!${call}`;
  return `${call} ${language === "python" ? "==" : "==="} ${show(expected)}`;
}

/**
 * Returns the items that `sandboxSlice` selects: n for the first n, -n for the last n. 0, null and `all` select all.
 */
export function sliceTests<Item>(items: readonly Item[], wanted: number | "all" | null): readonly Item[] {
  if (wanted === 0 || wanted === null || wanted === "all") return items;
  return wanted > 0 ? items.slice(0, wanted) : items.slice(wanted);
}

/** Returns a suite with all tests visible. Feedback may then show the tests that determine the reward. */
export function showAll<Suite extends TestSuite>(suite: Suite): Suite {
  return { ...suite, tests: suite.tests.map((test) => ({ ...test, visible: true })) };
}

/** Makes the first fifth of the tests visible, rounded up, and hides the others. A single test stays hidden. */
export function showFirstFifth<Suite extends TestSuite>(suite: Suite): Suite {
  const { length } = suite.tests;
  const shown = length > 1 ? Math.ceil(length / 5) : 0;
  return { ...suite, tests: suite.tests.map((test, i) => ({ ...test, visible: i < shown })) };
}
