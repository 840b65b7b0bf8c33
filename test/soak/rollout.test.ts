import { join } from "node:path";
import { expect, test } from "vitest";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { rollout } from "../../src/core/rollout/rollout.ts";
import { readTrace } from "../../src/core/trace/read-trace.ts";
import { agentStep, forever, numbers, observe, scriptedEnvironment } from "../core/rollout/scripted-environment.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import type { RolloutRound, RolloutSoakEnd } from "./rollout-soak.ts";
import { median, runSoak } from "./run-soak.ts";

const rounds = 120;

test("hundreds of thousands of episodes with all kinds of failures leak nothing and lose no episode", async () => {
  const folder = temporaryFolder();
  const lines = await runSoak("rollout-soak.ts", { arguments: [`${rounds}`, "1", folder], lastKey: "before" });
  const end = lines.pop() as unknown as RolloutSoakEnd;
  const results = lines as unknown as (RolloutRound & { readonly heap: number })[];
  expect(results).toHaveLength(rounds);

  const total: Record<string, number> = {};
  for (const result of results) {
    for (const [status, count] of Object.entries(result.statuses)) total[status] = (total[status] ?? 0) + count;
    expect(result.open, JSON.stringify(result)).toBe(0);
    if (result.ending === "is-left") {
      // A consumer that stops sees no more events. The trace has the episodes that had ended.
      expect(result.traced).toBeLessThanOrEqual(result.expected);
      expect(result.started).toBeLessThanOrEqual(result.expected);
      continue;
    }
    expect(result, JSON.stringify(result)).toMatchObject({ ended: result.started, traced: result.started });
    if (result.ending === "is-aborted") expect(result.counted).toBeUndefined();
    else {
      expect(result.started).toBe(result.expected);
      expect({ completed: 0, truncated: 0, failed: 0, aborted: 0, ...result.statuses }).toEqual(result.counted);
    }
  }
  for (const status of ["completed", "truncated", "failed", "aborted"])
    expect(total[status], status).toBeGreaterThan(100);
  expect(new Set(results.map(({ ending }) => ending)).size).toBe(3);

  expect(end.written).toBe(results.reduce((sum, { traced }) => sum + traced, 0));
  expect(end.written).toBeGreaterThan(200_000);
  expect(end.after).toEqual(end.before);
  const heaps = results.map(({ heap }) => heap);
  const [first, last] = [median(heaps.slice(10, rounds / 3)), median(heaps.slice(-rounds / 3))];
  expect(last, `bytes in use: ${first} in the first third`).toBeLessThan(1.03 * first);

  let read = 0;
  const readStatuses: Record<string, number> = {};
  for await (const { status } of readTrace(join(folder, "trace.jsonl"))) {
    read += 1;
    readStatuses[status] = (readStatuses[status] ?? 0) + 1;
  }
  expect(read).toBe(end.written);
  expect(readStatuses.failed).toBeGreaterThanOrEqual(total.failed!);
});

test("an instance that never closes is abandoned after half a minute", async () => {
  const environment = scriptedEnvironment<number>({
    reset: () => observe("hello"),
    step: () => ({ observations: {}, agents: { agent: agentStep(1, true) } }),
    close: forever,
  });
  const policies = scriptedPolicy(() => "yes");
  const events = await Array.fromAsync(rollout({ environment, tasks: numbers(3), policies, seed: 0 }));
  const warnings = events.filter(({ type }) => type === "warning");
  expect(warnings).toHaveLength(environment.instances.created);
  expect(warnings[0]).toMatchObject({ error: { code: "timeout" } });
  expect(events.at(-1)).toMatchObject({ type: "rollout-end", episodes: { completed: 3 } });
});
