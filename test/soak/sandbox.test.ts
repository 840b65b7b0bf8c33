import { describe, expect, test } from "vitest";
import type { ResourceUsage } from "./resource-usage.ts";
import { median, runSoak } from "./run-soak.ts";
import { soakBackends } from "./sandbox-backends.ts";

const executions = Number(process.env.LYCEUM_SOAK_EXECUTIONS ?? 50_000);

describe.each(soakBackends)("$backend $missing", ({ backend, missing }) => {
  test.skipIf(missing !== "")("tens of thousands of consecutive executions leak nothing", async () => {
    const lines = await runSoak("sandbox-soak.ts", { arguments: [backend, `${executions}`], lastKey: "before" });
    const { before, after, wrong, workersStarted } = lines.pop()! as unknown as {
      readonly before: ResourceUsage;
      readonly after: ResourceUsage;
      readonly wrong: readonly string[];
      readonly workersStarted: number;
    };
    expect(wrong).toEqual([]);
    expect(after).toMatchObject({ processes: 0, containers: 0 });
    expect(after.files).toBeLessThanOrEqual(before.files);
    const samples = lines as unknown as (ResourceUsage & { readonly rate: number })[];
    expect(samples.length).toBeGreaterThan(40);
    // The first third is a warm-up.
    const third = Math.floor(samples.length / 3);
    const [middle, last] = [samples.slice(third, 2 * third), samples.slice(-third)];
    const keys = ["rss", "workerRss", "processes", "files", "workersFiles", "containers"] as const;
    const figures = keys.map((key) => {
      const of = (some: typeof samples): number => median(some.map((sample) => sample[key]));
      expect(of(last), `${key}: ${of(middle)} in the second third`).toBeLessThanOrEqual(1.1 * of(middle));
      return `${key} ${of(middle)} -> ${of(last)}`;
    });
    const rate = median(samples.map((sample) => sample.rate));
    console.log(`${backend}: ${executions} executions, ${rate}/s, ${workersStarted} workers; ${figures.join(", ")}`);
  });
});
