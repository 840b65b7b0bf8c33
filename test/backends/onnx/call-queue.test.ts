import fc from "fast-check";
import { expect, it } from "vitest";
import { CallQueue } from "../../../trainers/backends/onnx/engine/call-queue.ts";

interface Started {
  readonly index: number;
  readonly group: number | undefined;
  readonly end: () => void;
}

/** A queue whose calls end when the test says so. */
function openQueue() {
  const queue = new CallQueue();
  const started: Started[] = [];
  const running = new Set<Started>();
  let count = 0;
  const add = (group?: number): void => {
    const index = count++;
    queue.add(() => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const call = { index, group, end: () => void (running.delete(call) && resolve()) };
      started.push(call);
      running.add(call);
      return promise;
    }, group);
  };
  const end = async (place: number): Promise<void> => {
    [...running][place % running.size]?.end();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { add, end, started, running };
}

it("runs calls without a group alone and in order, calls of a group together, and every call once", async () => {
  const action = fc.oneof(
    fc.record({ type: fc.constant("add" as const), group: fc.constantFrom(undefined, 1, 2) }),
    fc.record({ type: fc.constant("end" as const), place: fc.nat(9) }),
  );
  const property = fc.asyncProperty(fc.array(action, { maxLength: 40 }), async (actions) => {
    const { add, end, started, running } = openQueue();
    let added = 0;
    const check = (): void => {
      const groups = new Set([...running].map(({ group }) => group));
      expect(groups.size).toBe(added === started.length && running.size === 0 ? 0 : 1);
      if (groups.has(undefined)) expect(running.size).toBe(1);
    };
    for (const { type, ...rest } of actions) {
      if (type === "add") add((rest as { group: number | undefined }).group);
      else await end((rest as { place: number }).place);
      added += type === "add" ? 1 : 0;
      check();
    }
    while (running.size > 0) {
      await end(0);
      check();
    }
    const order = started.map(({ index }) => index);
    expect(order.toSorted((a, b) => a - b)).toEqual([...Array(added).keys()]);
    for (const group of [undefined, 1, 2]) {
      const own = started.filter((call) => call.group === group).map(({ index }) => index);
      expect(own).toEqual(own.toSorted((a, b) => a - b));
    }
  });
  await fc.assert(property, { numRuns: 200 });
});

it("lets a call join its running group, but not while another call waits", async () => {
  const { add, end, started } = openQueue();
  const order = (): (number | undefined)[] => started.map(({ group }) => group);
  add(1);
  add(1);
  expect(order()).toEqual([1, 1]);
  add();
  add(1);
  add(2);
  add(1);
  expect(order()).toEqual([1, 1]);
  await end(0);
  expect(order()).toEqual([1, 1]);
  await end(0);
  expect(order()).toEqual([1, 1, undefined]);
  await end(0);
  expect(order()).toEqual([1, 1, undefined, 1, 1]);
  await end(0);
  await end(0);
  expect(order()).toEqual([1, 1, undefined, 1, 1, 2]);
  add(2);
  expect(order()).toEqual([1, 1, undefined, 1, 1, 2, 2]);
});
