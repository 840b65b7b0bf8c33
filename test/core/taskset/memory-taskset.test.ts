import { expect, test } from "vitest";
import { memoryTaskset } from "../../../src/core/taskset/memory-taskset.ts";

test("returns its tasks by index with their own ids or indices", async () => {
  const taskset = memoryTaskset<Record<string, unknown>>("mixed", [{ id: "a" }, { task_id: 7 }, { question: "?" }]);
  expect(taskset.name).toBe("mixed");
  expect(taskset.length).toBe(3);
  const ids = await Promise.all([0, 1, 2].map(async (index) => (await taskset.get(index)).id));
  expect(ids).toEqual(["a", "7", "2"]);
  expect((await taskset.get(2)).index).toBe(2);
});

test("later changes to the original list do not affect it", async () => {
  const tasks = [{ question: "one" }];
  const taskset = memoryTaskset("copied", tasks);
  tasks.push({ question: "two" });
  tasks[0] = { question: "changed" };
  expect(taskset.length).toBe(1);
  expect((await taskset.get(0)).task).toEqual({ question: "one" });
});

test.each([-1, 2, 0.5, Number.NaN, Number.POSITIVE_INFINITY])("refuses index %s", async (index) => {
  const taskset = memoryTaskset("two", [1, 2]);
  await expect(taskset.get(index)).rejects.toMatchObject({ code: "data.out-of-range" });
});

test("an empty taskset reports that it is empty", async () => {
  await expect(memoryTaskset("none", []).get(0)).rejects.toMatchObject({ hint: "The taskset is empty." });
});

test("an aborted signal is respected", async () => {
  await expect(memoryTaskset("one", [1]).get(0, { signal: AbortSignal.abort() })).rejects.toThrow(/abort/i);
});
