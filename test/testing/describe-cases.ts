import { describe, test } from "vitest";
import type { ConformanceCase } from "../../src/entry-points/testing.ts";

/** Declares a test for each case of a conformance suite. */
export function describeCases(subject: string, cases: readonly ConformanceCase[]): void {
  describe(`${subject} conforms`, () => {
    for (const { name, run } of cases) test(name, run);
  });
}
