import { expect, test } from "vitest";
import { chosenRows, type RowChoice } from "../../../environments/math-problems/chosen-rows.ts";
import { mathProblemsEnvironment } from "../../../environments/math-problems/math-problems.ts";
import { memoryTaskset } from "../../../src/core/taskset/memory-taskset.ts";

const rows = Array.from({ length: 600 }, (_, i) => ({
  problem: `${i}?`,
  answer: `${i}`,
  ...(i % 6 === 0 ? {} : { level: i % 2 === 0 ? `Level ${i % 6}` : i % 6 }),
  ...(i % 3 === 0 ? {} : { type: i % 3 === 1 ? "Algebra" : "Number Theory" }),
}));
const taskset = memoryTaskset("rows", rows);

async function chosen(choice: RowChoice): Promise<string[]> {
  const found = await chosenRows(taskset, choice);
  const length = Number(found.length);
  const entries = await Promise.all(Array.from({ length }, (_, i) => found.get(i)));
  expect(entries.map(({ index }) => index)).toEqual(entries.map((_, i) => i));
  expect(entries.every(({ id, task }) => `${id}?` === task.problem)).toBe(true);
  return entries.map(({ id }) => id);
}

const ids = (isWanted: (i: number) => boolean): string[] => rows.flatMap((_, i) => (isWanted(i) ? [`${i}`] : []));

test("selects rows of a level, a range of levels, types, and both, in their order", async () => {
  expect(await chosen({ level: 4 })).toEqual(ids((i) => i % 6 === 4));
  expect(await chosen({ level: [2, 3] })).toEqual(ids((i) => i % 6 === 2 || i % 6 === 3));
  expect(await chosen({ types: ["algebra"] })).toEqual(ids((i) => i % 3 === 1));
  expect(await chosen({ types: ["Algebra", "number theory"], level: [5, 9] })).toEqual(ids((i) => i % 6 === 5));
  expect(await chosenRows(taskset, {})).toBe(taskset);
});

test("throws for an empty selection, an index beyond the end and a wrong option", async () => {
  await expect(chosenRows(taskset, { level: 6 })).rejects.toMatchObject({ code: "data.out-of-range" });
  const found = await chosenRows(taskset, { level: 4 });
  await expect(found.get(100)).rejects.toMatchObject({ code: "data.out-of-range" });
  for (const level of [-1, 1.5, [3, 1], "hard"]) {
    expect(() => mathProblemsEnvironment({ path: "x.jsonl", level: level as number })).toThrow(
      expect.objectContaining({ code: "config.invalid" }),
    );
  }
});
