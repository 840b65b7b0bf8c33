import { expect, test } from "vitest";
import { scriptedPolicy } from "../../src/policy/scripted-policy.ts";
import { collectGroups } from "../../src/rollout/collect-groups.ts";
import { rollout } from "../../src/rollout/rollout.ts";
import { countingWorld, numbers } from "./worlds.ts";

test("episodes that never wait leave the event loop its turns", async () => {
  let turns = 0;
  let counting = setImmediate(function count() {
    turns += 1;
    counting = setImmediate(count);
  });
  const started = performance.now();
  await collectGroups(
    rollout({
      environment: countingWorld(20),
      tasks: numbers(500),
      policies: scriptedPolicy(() => "yes"),
      concurrency: 500,
      seed: 0,
    }),
  );
  clearImmediate(counting);
  const slices = (performance.now() - started) / 4;
  // Slices end late when the machine is busy: a quarter of what there could be is proof enough, none is the failure.
  expect(turns).toBeGreaterThan(Math.min(slices / 4, 5));
});
