import { expect, test } from "vitest";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { collectGroups } from "../../../src/core/rollout/collect-groups.ts";
import { rollout } from "../../../src/core/rollout/rollout.ts";
import { TimeSlice } from "../../../src/core/rollout/time-slice.ts";
import { countingEnvironment, numbers } from "./scripted-environment.ts";

test("episodes that never wait do not block the event loop", async () => {
  let turns = 0;
  let counting = setImmediate(function count() {
    turns += 1;
    counting = setImmediate(count);
  });
  const started = performance.now();
  await collectGroups(
    rollout({
      environment: countingEnvironment(20),
      tasks: numbers(500),
      policies: scriptedPolicy(() => "yes"),
      concurrency: 500,
      seed: 0,
    }),
  );
  clearImmediate(counting);
  const slices = (performance.now() - started) / 4;
  // Slices end late if the machine is busy. A quarter of the possible number is enough, and none is a failure.
  expect(turns).toBeGreaterThan(Math.min(slices / 4, 5));
});

/**
 * Four calls wait. Each works for a while when it continues. Returns their order, and the number of turns of the event
 * loop.
 */
async function fourWait(workMs: number): Promise<{ readonly order: readonly number[]; readonly turns: number }> {
  const slice = new TimeSlice();
  work(10);
  let turns = 0;
  let counting = setImmediate(function count() {
    turns += 1;
    counting = setImmediate(count);
  });
  const seen: { readonly place: number; readonly turns: number }[] = [];
  const wait = async (place: number): Promise<void> => {
    await slice.pause();
    // However many steps it takes, the next one waits for the last of them.
    for (let step = 0; step < 20; step++) await undefined;
    work(workMs);
    seen.push({ place, turns });
  };
  await Promise.all([0, 1, 2, 3].map(wait));
  clearImmediate(counting);
  return { order: seen.map(({ place }) => place), turns: new Set(seen.map((one) => one.turns)).size };
}

function work(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test("callers that use up the slice continue in order, each in its own turn of the event loop", async () => {
  expect(await fourWait(5)).toEqual({ order: [0, 1, 2, 3], turns: 4 });
});

test("callers that leave time continue in order, several per turn", async () => {
  const { order, turns } = await fourWait(0);
  expect(order).toEqual([0, 1, 2, 3]);
  expect(turns).toBeLessThan(4);
});

test("each caller continues after the one before has no more microtasks", async () => {
  const slice = new TimeSlice();
  work(10);
  const seen: string[] = [];
  const walk = async (name: string): Promise<void> => {
    for (let round = 0; round < 3; round++) {
      await slice.pause();
      seen.push(name);
      await undefined;
      seen.push(name);
    }
  };
  await Promise.all(["a", "b", "c"].map(walk));
  expect(seen.join("")).toBe("aabbccaabbccaabbcc");
});
