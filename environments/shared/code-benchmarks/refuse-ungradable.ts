import { ungradableTest } from "../../../sandbox/grading/python/ungradable-tests.ts";
import { LyceumError } from "../../../src/contract/errors/index.ts";

/** Throws `data.malformed`, with the line, if a problem in Python has a test that would fail for right code. */
export function refuseUngradable(id: string, tests: readonly string[]): void {
  const found = ungradableTest(tests);
  if (found === undefined) return;
  throw new LyceumError({
    code: "data.malformed",
    message: `The problem "${id}" has a test that cannot be graded, because ${found.reason}: ${found.line}.`,
    hint: found.hint,
    data: { id, line: found.line },
  });
}
