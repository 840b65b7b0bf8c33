import { expect, test } from "vitest";
import { median, runSoak } from "./run-soak.ts";

const passes = 200;

test("200 passes of varying shapes need about the memory of the largest", async () => {
  const lines = await runSoak("shapes-soak.ts", { arguments: [`${passes}`], lastKey: "passes" });
  const sizes = lines.slice(0, -1).map(({ rss }) => rss as number);
  expect(sizes).toHaveLength(passes);
  const quarter = passes / 4;
  const [second, last] = [median(sizes.slice(quarter, 2 * quarter)), median(sizes.slice(-quarter))];
  expect(last, `bytes resident: ${second} in the second quarter`).toBeLessThan(1.2 * second);
  // The runtime's arena has gaps, so that it is larger than its largest run.
  expect(Math.max(...sizes), `bytes resident: ${sizes[0]} at first`).toBeLessThan(1.75 * sizes[0]!);
});
