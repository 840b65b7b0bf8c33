import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { generatedTaskset } from "../../src/core/taskset/generated-taskset.ts";
import { memoryTaskset } from "../../src/core/taskset/memory-taskset.ts";
import { createTaskOrder } from "../../trainers/tasks/task-order.ts";

const numbers = (length: number) =>
  memoryTaskset(
    "numbers",
    Array.from({ length }, (_, i) => i),
  );
const take = async (order: ReturnType<typeof createTaskOrder>, count: number) =>
  (await order.take(count)).map(({ index }) => index);

describe("createTaskOrder", () => {
  it("gives every task once per pass, in another order in each pass", async () => {
    const order = createTaskOrder(numbers(50), { seed: 1 });
    const passes = [await take(order, 50), await take(order, 50)];
    for (const pass of passes) expect(pass.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
    expect(passes[0]).not.toEqual(passes[1]);
    expect(passes[0]).not.toEqual(passes[0]!.toSorted((a, b) => a - b));
  });

  it("does not block timers and the signal, however many tasks are taken", async () => {
    const endless = generatedTaskset({ name: "endless", seed: 1, length: "unbounded", generate: (_, index) => index });
    const order = createTaskOrder(endless, { seed: 1 });
    const signal = AbortSignal.timeout(20);
    await expect(order.take(1e9, { signal })).rejects.toMatchObject({ name: "TimeoutError" });
    expect(order.cursor).toBe(0);
  });

  it("continues from a cursor as if it had never stopped, for any batch sizes", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 12 }),
        fc.integer(),
        fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 6 }),
        async (length, seed, batches) => {
          const total = batches.reduce((sum, batch) => sum + batch, 0);
          const straight = await take(createTaskOrder(numbers(length), { seed }), total);
          const stopped: number[] = [];
          let cursor = 0;
          for (const batch of batches) {
            const order = createTaskOrder(numbers(length), { seed, cursor });
            stopped.push(...(await take(order, batch)));
            cursor = order.cursor;
          }
          expect(stopped).toEqual(straight);
          expect(cursor).toBe(total);
        },
      ),
    );
  });

  it("depends on the seed and is repeatable", async () => {
    const first = (seed: number) => take(createTaskOrder(numbers(30), { seed }), 30);
    expect(await first(1)).toEqual(await first(1));
    expect(await first(1)).not.toEqual(await first(2));
  });

  it("plays an unbounded taskset in order", async () => {
    const taskset = generatedTaskset({ name: "all", seed: 1, length: "unbounded", generate: (_, index) => index });
    const order = createTaskOrder(taskset, { seed: 1, cursor: 5 });
    expect(await take(order, 3)).toEqual([5, 6, 7]);
    expect(order.cursor).toBe(8);
  });

  it("refuses an empty taskset, and keeps the cursor if a task cannot be read", async () => {
    expect(() => createTaskOrder(numbers(0), { seed: 1 })).toThrow(
      expect.objectContaining({ code: "data.out-of-range" }),
    );
    const broken = {
      ...numbers(4),
      get: async () => {
        throw new Error("unreadable");
      },
    };
    const order = createTaskOrder(broken, { seed: 1 });
    await expect(order.take(2)).rejects.toThrow("unreadable");
    expect(order.cursor).toBe(0);
  });
});
