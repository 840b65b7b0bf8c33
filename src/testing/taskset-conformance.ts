import assert from "node:assert/strict";
import type { Taskset } from "../contract/taskset.ts";
import { type ConformanceCase, conformanceCases } from "../core/conformance-case.ts";
import { contentHash } from "../core/taskset/content-hash.ts";

/**
 * The conformance suite of a taskset. `open` returns a taskset with at least one task. The suite reads its first tasks,
 * at most 20.
 *
 * @example
 * import { memoryTaskset } from "lyceum/tasksets";
 * import { tasksetConformance } from "lyceum/testing";
 * const cases = tasksetConformance(() => memoryTaskset("words", ["hello", "world"]));
 * for (const { run } of cases) await run(); // in a test file: for (const { name, run } of cases) test(name, run)
 */
export function tasksetConformance(open: () => Taskset | Promise<Taskset>): ConformanceCase[] {
  return conformanceCases(open, {
    "has a name, a version and a length": ({ specificationVersion, name, length }) => {
      assert.equal(specificationVersion, "v1");
      assert.notEqual(name, "");
      assert.ok(length === "unbounded" || (Number.isSafeInteger(length) && length > 0), `length is ${length}`);
    },
    "returns each task with its index, an id of its own and the hash of its content": async (taskset) => {
      const entries = await firstEntries(taskset);
      assert.deepEqual(
        entries.map(({ index }) => index),
        [...entries.keys()],
      );
      assert.equal(new Set(entries.map(({ id }) => id)).size, entries.length, "two tasks have the same id");
      for (const { id, hash, task } of entries) assert.equal(hash, contentHash(task), `the hash of task ${id}`);
    },
    "returns the same task again, in any order": async (taskset) => {
      const entries = await firstEntries(taskset);
      for (const entry of entries.toReversed()) assert.deepEqual(await taskset.get(entry.index), entry);
    },
    "throws data.out-of-range beyond its tasks": async (taskset) => {
      const beyond = taskset.length === "unbounded" ? [-1, 0.5] : [-1, 0.5, taskset.length];
      for (const index of beyond) await assert.rejects(async () => taskset.get(index), { code: "data.out-of-range" });
    },
  });
}

function firstEntries(taskset: Taskset) {
  const count = Math.min(20, taskset.length === "unbounded" ? Infinity : taskset.length);
  return Promise.all(Array.from({ length: count }, (_, index) => taskset.get(index)));
}
