import type { CallTest, TestSuite } from "../../../sandbox/grading/test-suite.ts";
import { showPlainValue } from "../../../sandbox/plain-value-text.ts";

/** The visible tests of a suite, as source, with their place in it. */
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

/** The items that `sandboxSlice` picks: the first n, the last -n; 0, null and `all` stand for every one. */
export function sliceTests<Item>(items: readonly Item[], wanted: number | "all" | null): readonly Item[] {
  if (wanted === 0 || wanted === null || wanted === "all") return items;
  return wanted > 0 ? items.slice(0, wanted) : items.slice(wanted);
}

/** A suite whose every test is visible, as the seeds had it: feedback may then show what the reward is made of. */
export function showAll<Suite extends TestSuite>(suite: Suite): Suite {
  return { ...suite, tests: suite.tests.map((test) => ({ ...test, visible: true })) };
}
