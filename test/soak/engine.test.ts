import { expect, test } from "vitest";
import { median, runSoak } from "./run-soak.ts";

/** Memory grows until about step 4,500: sessions fill their caches, and the allocator finds its size. */
const steps = 12_000;

test("thousands of steps with varying lengths, and models that open and close, leak no memory", async () => {
  const lines = await runSoak("engine-soak.ts", { arguments: [`${steps}`, "1"], lastKey: "before" });
  const { before, after, samples } = lines.pop()!;
  expect(after).toEqual(before);
  expect(samples).toBeGreaterThan(steps);
  const sizes = lines.map(({ rss }) => rss as number);
  expect(sizes).toHaveLength(steps / 25);
  // The first third is a warm-up: sessions fill their cache, and the allocator reaches its size.
  const third = sizes.length / 3;
  const [middle, last] = [median(sizes.slice(third, 2 * third)), median(sizes.slice(-third))];
  expect(last, `bytes resident: ${middle} in the second third`).toBeLessThan(1.05 * middle);
});
