import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memoryTaskset } from "../../src/entry-points/tasksets.ts";
import { createCurriculum } from "../../trainers/tasks/curriculum.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { letterEnvironment } from "./letter-environment.ts";
import { checkpointState, eventsOf, letterConfig, runTraining } from "./run-training.ts";

interface Task {
  readonly name: number;
  readonly level: number | string;
}

const tasksOf = (levels: readonly (number | string)[]) =>
  memoryTaskset<Task>(
    "tasks",
    levels.map((level, name) => ({ name, level })),
  );
const settings = { by: "level", start: 0.2, end: 1, steps: 4, batchSize: 5, seed: 1 };

describe("createCurriculum", () => {
  it("draws each batch from the easiest share, which grows to all tasks", async () => {
    const levels = Array.from({ length: 50 }, (_, index) => (index * 7) % 50);
    const order = await createCurriculum(tasksOf(levels), settings);
    const hardest: number[] = [];
    for (let batch = 0; batch < 4; batch++) {
      expect(order.pool).toBe(10 + 10 * batch);
      const tasks = await order.take(5);
      expect(new Set(tasks.map(({ id }) => id)).size).toBe(5);
      hardest.push(Math.max(...tasks.map(({ task }) => Number(task.level))));
    }
    for (const [batch, level] of hardest.entries()) expect(level).toBeLessThan(10 + 10 * batch);
    expect(order.pool).toBe(50);
    const pass = await order.take(50);
    expect(new Set(pass.map(({ id }) => id)).size).toBe(50);
  });

  it("includes tasks as difficult as the last of the share, and never exceeds the final share", async () => {
    const order = await createCurriculum(tasksOf([1, 1, 1, 2, 2, 3, 3, 3, 3, 9]), { ...settings, end: 0.5 });
    expect(order.pool).toBe(3);
    const later = await order.take(200);
    expect(order.pool).toBe(5);
    expect(Math.max(...later.map(({ task }) => Number(task.level)))).toBe(2);
  });

  it.each<[string, (number | string)[], string[] | undefined, (number | string)[]]>([
    ["numbers by size", [10, 9, 100], undefined, [9, 10, 100]],
    ["texts in natural order", ["Level 10", "Level 2", "Level 1"], undefined, ["Level 1", "Level 2", "Level 10"]],
    ["values in the order given", ["hard", "easy", "medium"], ["easy", "medium", "hard"], ["easy", "medium", "hard"]],
    ["numbers in the order given", [1, 2, 3], ["3", "1", "2"], [3, 1, 2]],
  ])("sorts %s", async (_, levels, order, expected) => {
    const easiest = async (share: number): Promise<unknown[]> => {
      const given = { ...settings, start: share, batchSize: 3, ...(order === undefined ? {} : { order }) };
      const tasks = await (await createCurriculum(tasksOf(levels), given)).take(3);
      return [...new Set(tasks.map(({ task }) => task.level))];
    };
    expect(await easiest(0.1)).toEqual([expected[0]]);
    expect((await easiest(0.6)).toSorted()).toEqual(expected.slice(0, 2).toSorted());
  });

  it("continues from any cursor as if it had not stopped, however the tasks are taken", async () => {
    const levels = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(levels, fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 8 }), async (drawn, takes) => {
        const whole = await (await createCurriculum(tasksOf(drawn), settings)).take(80);
        let cursor = 0;
        for (const count of takes) {
          const order = await createCurriculum(tasksOf(drawn), { ...settings, cursor });
          expect(await order.take(count)).toEqual(whole.slice(cursor, cursor + count));
          cursor += count;
          expect(order.cursor).toBe(cursor);
        }
      }),
      { numRuns: 30 },
    );
  });

  it.each<[string, (number | string)[], object, string]>([
    ["a missing field", [1, 2], { by: "difficulty" }, "is missing"],
    ["numbers and texts mixed", [1, "two"], {}, '"two"'],
    ["a value that the order leaves out", ["easy", "odd"], { order: ["easy", "hard"] }, '"odd"'],
    ["a field of every object", [1], { by: "constructor" }, "is missing"],
  ])("refuses %s", async (_, levels, changes, message) => {
    await expect(createCurriculum(tasksOf(levels), { ...settings, ...changes })).rejects.toMatchObject({
      code: "data.malformed",
      message: expect.stringContaining(message),
      hint: expect.stringContaining("name, level"),
    });
  });

  it("sorts by the group of a task without a field, in natural order", async () => {
    const tasks = tasksOf(["Level 10", "Level 2", "Level 1"]);
    const environment = { spec: letterEnvironment().spec, groupOf: ({ level }: Task) => String(level) };
    const { by: _, ...rest } = { ...settings, start: 0.1, batchSize: 1 };
    const [first] = await (await createCurriculum(tasks, { ...rest, environment })).take(1);
    expect(first!.task.level).toBe("Level 1");
    for (const groupless of [environment, { spec: environment.spec }, undefined]) {
      const given = { ...rest, environment: groupless && { ...groupless, groupOf: () => undefined } };
      await expect(createCurriculum(tasks, given)).rejects.toMatchObject({
        code: "data.malformed",
        message: expect.stringContaining("cannot be sorted by its group: groupOf is missing"),
      });
    }
  });

  it("refuses an unbounded taskset", async () => {
    const endless = { ...tasksOf([1]), length: "unbounded" as const };
    await expect(createCurriculum(endless, settings)).rejects.toMatchObject({ code: "config.invalid" });
  });
});

describe("a run with a curriculum", () => {
  const config = (steps: number) =>
    letterConfig({
      tasks: { curriculum: { by: "prompt", start: 0.1, steps: 6 } },
      training: { steps, batchSize: 4 },
      checkpoint: { every: 0 },
    });

  it("reports the number of tasks it draws from", async () => {
    const record = await runTraining({ output: temporaryFolder(), config: config(8) });
    const pools = eventsOf(record, "step").map(({ metrics }) => metrics["curriculum/tasks"]!);
    expect(pools).toEqual([7, 16, 26, 36, 45, 55, 64, 64]);
  });

  it("ends with the same weights if it was interrupted and resumed", async () => {
    const [whole, parted] = [temporaryFolder(), temporaryFolder()];
    await runTraining({ output: whole, config: config(8) });
    await runTraining({ output: parted, config: config(3) });
    const { error } = await runTraining({ output: parted, config: config(8), resume: true });
    expect(error).toBeUndefined();
    expect(await checkpointState(parted, 8)).toBe(await checkpointState(whole, 8));
    const other = temporaryFolder();
    await runTraining({ output: other, config: { ...config(8), tasks: {} }, environment: letterEnvironment() });
    expect(await checkpointState(other, 8)).not.toBe(await checkpointState(whole, 8));
  });
});
