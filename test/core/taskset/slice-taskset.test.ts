import fc from "fast-check";
import { expect, test } from "vitest";
import type { Taskset } from "../../../src/contract/taskset.ts";
import { generatedTaskset } from "../../../src/core/taskset/generated-taskset.ts";
import { mapTaskset } from "../../../src/core/taskset/map-taskset.ts";
import { memoryTaskset } from "../../../src/core/taskset/memory-taskset.ts";
import { sliceTaskset } from "../../../src/core/taskset/slice-taskset.ts";
import { parseSplit } from "../../../src/core/taskset/split.ts";

const numbers = (length: number): Taskset<number> =>
  memoryTaskset(
    "train",
    Array.from({ length }, (_, i) => i),
  );
const slice = <Task>(taskset: Taskset<Task>, text: string): Taskset<Task> =>
  sliceTaskset(taskset, parseSplit(text).slice ?? {});

async function all<Task>(taskset: Taskset<Task>): Promise<Task[]> {
  const tasks: Task[] = [];
  for (let index = 0; index < (taskset.length as number); index++) tasks.push((await taskset.get(index)).task);
  return tasks;
}

test("agrees with slicing an array", async () => {
  const end = fc.option(fc.integer({ min: -30, max: 30 }), { nil: undefined });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 20 }), end, end, async (length, from, to) => {
      const expected = Array.from({ length }, (_, i) => i).slice(from, to);
      const run = async (): Promise<number[]> => all(slice(numbers(length), `train[${from ?? ""}:${to ?? ""}]`));
      if (expected.length === 0) await expect(run()).rejects.toMatchObject({ code: "data.out-of-range" });
      else expect(await run()).toEqual(expected);
    }),
  );
});

test.each([
  ["train[:10%]", 7473, 0, 747],
  ["train[10%:20%]", 7473, 747, 1495],
  ["train[-10%:]", 7473, 6726, 7473],
  ["train[:50%]", 5, 0, 2],
  ["train[:50%]", 7, 0, 4],
  ["train[:100%]", 3, 0, 3],
])("%s of %i tasks is [%i, %i), as Hugging Face rounds", async (text, length, start, end) => {
  const part = slice(numbers(length), text);
  expect(part.length).toBe(end - start);
  expect((await part.get(0)).task).toBe(start);
  expect((await part.get(end - start - 1)).task).toBe(end - 1);
  await expect(part.get(end - start)).rejects.toMatchObject({ code: "data.out-of-range" });
  await expect(part.get(-1)).rejects.toMatchObject({ code: "data.out-of-range" });
});

test("percentages cut a taskset into parts that neither overlap nor leave a gap", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 10, max: 300 }), fc.integer({ min: 10, max: 90 }), async (length, percent) => {
      const parts = await Promise.all(
        [`train[:${percent}%]`, `train[${percent}%:]`].map((text) => all(slice(numbers(length), text))),
      );
      expect(parts.flat()).toEqual(Array.from({ length }, (_, i) => i));
    }),
  );
});

test("keeps ids and hashes, starts indices at 0, and has its own name", async () => {
  const whole = memoryTaskset("train", [{ id: "a" }, { id: "b" }, { id: "c" }]);
  const part = slice(whole, "train[1:]");
  expect(part.name).toBe("train[1:]");
  expect(await part.get(0)).toEqual({ ...(await whole.get(1)), index: 0 });
});

test("a slice of a slice", async () => {
  expect(await all(slice(slice(numbers(10), "train[2:9]"), "train[-3:-1]"))).toEqual([6, 7]);
});

test("an unbounded taskset can be sliced from its beginning, but not from its end", async () => {
  const endless = generatedTaskset({
    name: "train",
    seed: 1,
    length: "unbounded",
    generate: (_random, index) => index,
  });
  expect(await all(slice(endless, "train[3:6]"))).toEqual([3, 4, 5]);
  const rest = slice(endless, "train[100:]");
  expect(rest.length).toBe("unbounded");
  expect((await rest.get(5)).task).toBe(105);
  for (const text of ["train[-5:]", "train[:10%]", "train[:-1]"]) {
    expect(() => slice(endless, text)).toThrow(expect.objectContaining({ code: "data.out-of-range" }));
  }
});

test("mapping keeps ids and lengths and hashes the new tasks", async () => {
  const rows = memoryTaskset("rows", [{ id: "x", value: 2 }]);
  const mapped = mapTaskset(rows, ({ value }, index) => ({ doubled: value * 2, index }), "mapped");
  const entry = await mapped.get(0);
  expect(entry).toMatchObject({ index: 0, id: "x", task: { doubled: 4, index: 0 } });
  expect(entry.hash).not.toBe((await rows.get(0)).hash);
  expect([mapped.name, mapped.length]).toEqual(["mapped", 1]);
});
