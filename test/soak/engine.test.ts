import { expect, test } from "vitest";
import { median, runSoak } from "./run-soak.ts";

const steps = 5_000;

test("thousands of steps of ever-changing lengths, with models coming and going, keep to their memory", async () => {
  const lines = await runSoak("engine-soak.ts", { arguments: [`${steps}`, "1"], lastKey: "before" });
  const { before, after, samples } = lines.pop()!;
  expect(after).toEqual(before);
  expect(samples).toBeGreaterThan(steps);
  const sizes = lines.map(({ rss }) => rss as number);
  expect(sizes).toHaveLength(steps / 25);
  // The first third warms up: sessions fill their cache, the allocator finds its size.
  const third = sizes.length / 3;
  const [middle, last] = [median(sizes.slice(third, 2 * third)), median(sizes.slice(-third))];
  expect(last, `bytes resident: ${middle} in the second third`).toBeLessThan(1.05 * middle);
});
