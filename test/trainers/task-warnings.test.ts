import { expect, it } from "vitest";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import { memoryTaskset } from "../../src/core/taskset/memory-taskset.ts";
import { changedTaskWarning, duplicateWarning } from "../../trainers/tasks/task-warnings.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { type LetterTask, letterEnvironment } from "./letter-environment.ts";
import { eventsOf, letterConfig, runEnd, runTraining } from "./run-training.ts";

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

it.each([
  "completed",
  "aborted",
  "failed",
])("a run that is %s warns of instances that fail to close", async (reason) => {
  const letters = letterEnvironment();
  const stop = new AbortController();
  let hasFailed = false;
  const environment = defineEnvironment<LetterTask, undefined, AsyncDisposable>({
    id: "letters",
    tasks: (split) => letters.tasks(split),
    open: async () => ({ [Symbol.asyncDispose]: () => Promise.reject(new Error("the disk is full")) }),
    reset: ({ task }) => task.prompt,
    step: ({ task, text }) => {
      if (hasFailed) throw new Error("broken");
      return { reward: task.prompt.charCodeAt(1) % 2 === text.charCodeAt(0) % 2 ? 1 : 0 };
    },
  });
  const record = await runTraining({
    output: temporaryFolder(),
    config: letterConfig({ probe: { groups: 0 } }),
    environment,
    signal: stop.signal,
    onEvent: ({ type }) => {
      if (type !== "step") return;
      if (reason === "aborted") stop.abort();
      hasFailed = reason === "failed";
    },
  });
  const warnings = eventsOf(record, "warning").filter(({ message }) => message.includes("the disk is full"));
  expect(runEnd(record).reason).toBe(reason);
  expect(warnings).toHaveLength(1);
});
