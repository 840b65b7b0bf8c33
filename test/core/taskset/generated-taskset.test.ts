import { expect, test } from "vitest";
import { createRandom, deriveSeed } from "../../../src/core/random/random.ts";
import { generatedTaskset } from "../../../src/core/taskset/generated-taskset.ts";

const generate = (random: { integer(minimum: number, maximum: number): number }): { n: number } => ({
  n: random.integer(0, 99),
});

test("a task depends on the seed and its index, not on earlier requests", async () => {
  const make = (seed: number) => generatedTaskset({ name: "n", seed, length: "unbounded" as const, generate });
  const forward = make(5);
  const backward = make(5);
  const ahead = await Promise.all([0, 1, 2, 3, 1000].map((index) => forward.get(index)));
  const behind = await Promise.all([1000, 3, 2, 1, 0].map((index) => backward.get(index)));
  expect(behind.reverse()).toEqual(ahead);
  expect(ahead[2]!.task).toEqual(generate(createRandom(deriveSeed(5, 2, 0))));
  const other = await Promise.all([0, 1, 2, 3, 1000].map((index) => make(6).get(index)));
  expect(other.map(({ hash }) => hash)).not.toEqual(ahead.map(({ hash }) => hash));
});

test("distinct tasks are distinct for any order of requests, up to the last possible task", async () => {
  const options = { name: "n", seed: 5, length: 100, generate, distinct: true };
  const inOrder = generatedTaskset(options);
  const hashes: string[] = [];
  for (let index = 0; index < 100; index++) hashes.push((await inOrder.get(index)).hash);
  expect(new Set(hashes).size).toBe(100);
  const jumping = generatedTaskset(options);
  for (const index of [99, 0, 50, 99, 7]) expect((await jumping.get(index)).hash).toBe(hashes[index]);
});

test("an exhausted generator throws instead of looping forever", async () => {
  const taskset = generatedTaskset({ name: "n", seed: 5, length: 101, generate, distinct: true });
  await expect(taskset.get(100)).rejects.toMatchObject({
    code: "data.out-of-range",
    hint: expect.stringContaining("fewer"),
  });
});

test("only accepted tasks are returned", async () => {
  const taskset = generatedTaskset({
    name: "even",
    seed: 1,
    length: 50,
    generate,
    accept: ({ task }) => task.n % 2 === 0,
  });
  for (let index = 0; index < 50; index++) expect((await taskset.get(index)).task.n % 2).toBe(0);
  const none = generatedTaskset({ name: "none", seed: 1, length: 1, generate, accept: () => false });
  await expect(none.get(0)).rejects.toMatchObject({ code: "data.out-of-range" });
});

test("bounds and signals are respected", async () => {
  const taskset = generatedTaskset({ name: "n", seed: 5, length: 3, generate });
  await expect(taskset.get(3)).rejects.toMatchObject({ code: "data.out-of-range" });
  await expect(taskset.get(0, { signal: AbortSignal.abort() })).rejects.toThrow(/abort/i);
});
