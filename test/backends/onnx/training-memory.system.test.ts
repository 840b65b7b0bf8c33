import { expect, it } from "vitest";
import { runSoak } from "../../soak/run-soak.ts";

it("needs no more memory for other shapes of a pass than for the largest", async () => {
  const lines = await runSoak("shapes-soak.ts", { arguments: ["5"], lastKey: "passes" });
  const [largest, ...others] = lines.slice(0, -1).map(({ rss }) => rss as number);
  expect(others).toHaveLength(4);
  // A graph of its own for each shape takes 1.9 times as much.
  expect(Math.max(...others), `bytes resident: ${largest} at first`).toBeLessThan(1.25 * largest!);
});
