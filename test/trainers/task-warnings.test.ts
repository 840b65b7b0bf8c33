import { expect, it } from "vitest";
import { memoryTaskset } from "../../src/core/taskset/memory-taskset.ts";
import { changedTaskWarning, duplicateWarning } from "../../trainers/tasks/task-warnings.ts";

const duplicates = (tasks: readonly unknown[]) => duplicateWarning(memoryTaskset("own", tasks), { signal: undefined });

it("names the first two tasks with the same content", async () => {
  expect(await duplicates([{ a: 1, b: 2 }, "x", { b: 2, a: 1 }, "x"])).toMatch(/^Tasks 0 and 2 of own.*lyceum check/);
  expect(await duplicates([{ a: 1 }, { a: 2 }, "1", 1])).toBeUndefined();
});

it("names a task that was changed after it was loaded", async () => {
  const task = { id: "one", numbers: [1, 2] };
  const tasks = memoryTaskset<unknown>("own", ["other", task]);
  const entries = [await tasks.get(0), await tasks.get(1)];
  expect(changedTaskWarning(entries)).toBeUndefined();
  task.numbers.push(3);
  expect(changedTaskWarning(entries)).toMatch(/^Task one was changed while it was played.*lyceum check/);
});
