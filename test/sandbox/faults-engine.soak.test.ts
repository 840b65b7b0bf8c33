import { existsSync } from "node:fs";
import { mkdir, readdir, rmdir, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createDockerSandbox } from "../../sandbox/docker/create-docker-sandbox.ts";
import type { ExecuteResult } from "../../sandbox/index.ts";
import { type DedicatedEngine, dedicatedEngineProblem, ownEngine } from "./dedicated-engine.ts";
import { expectAllRight, runSamples } from "./fault-samples.ts";

const image = "lyceum-sandbox";
const missing = await dedicatedEngineProblem(image);
if (missing !== undefined && (process.env.LYCEUM_TEST_SANDBOXES ?? "").split(",").includes("docker")) {
  throw new Error(missing);
}
const title = missing === undefined ? "" : ` (skipped: ${missing})`;

let engine: DedicatedEngine;
beforeAll(async () => {
  if (missing === undefined) engine = await ownEngine(image);
});
afterAll(async () => {
  if (missing === undefined) await engine[Symbol.asyncDispose]();
});

/** How long the engine is down. */
const outageMs = 4_000;

const faults = {
  "is killed, and started again": async () => {
    await engine.signal("SIGKILL");
    await sleep(outageMs);
    await engine.start();
  },
  "is stopped, and started again": async () => {
    await engine.signal("SIGTERM");
    await sleep(outageMs);
    await engine.start();
  },
  "is paused, and goes on": async () => {
    await engine.signal("SIGSTOP");
    await sleep(outageMs);
    await engine.signal("SIGCONT");
  },
} as const;

test.skipIf(missing !== undefined).each(Object.entries(faults))(
  `the engine %s during 40 right samples: all stay right and nothing is left${title}`,
  async (name, bringAbout) => {
    const { connection, docker } = engine;
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on("warning", onWarning);
    onTestFinished(() => void process.off("warning", onWarning));
    const idle = (await engine.running()).length;
    {
      await using sandbox = await createDockerSandbox({ connection, workers: 2 });
      await sandbox.warmUp();
      expect((await engine.running()).length).toBeGreaterThan(idle);
      const results: ExecuteResult[] = [];
      // A stopped engine waits ten seconds for its containers.
      const asked = { language: "python", ms: 1_000, wallMs: 30_000 } as const;
      const samples = runSamples(sandbox, asked, (result) => results.push(result));
      await expect.poll(() => results.length, { timeout: 60_000 }).toBeGreaterThanOrEqual(2);
      await bringAbout();
      expect(results.length).toBeLessThan(40);
      await samples;
      expectAllRight(results);
      if (!name.startsWith("is paused")) {
        // The fault has affected some samples, and the sandbox reports it.
        expect(results.some(({ attempts }) => attempts > 1)).toBe(true);
        expect(warnings.map(({ message }) => message)).toContainEqual(
          expect.stringMatching(/^A worker of the docker sandbox does not start: .*\. Retrying for \d+ s\.$/),
        );
      }
    }
    await expect.poll(() => docker.listContainers({ all: true }), { timeout: 60_000 }).toEqual([]);
    await expect.poll(async () => (await engine.running()).length, { timeout: 60_000 }).toBe(idle);
  },
);

/** Version 1 of control groups: one folder each for memory, processors and others. */
const groups = "/sys/fs/cgroup";
const hasGroups = existsSync(`${groups}/memory/memory.limit_in_bytes`);

test.skipIf(missing !== undefined || !hasGroups)(
  `a container's own memory limit is distinguished from a limit above it${hasGroups ? title : " (skipped: no control groups of version 1)"}`,
  async () => {
    const above = `lyceum-test-${process.pid}`;
    await mkdir(`${groups}/memory/${above}`);
    onTestFinished(async () => {
      for (const group of await readdir(groups)) await rmdir(`${groups}/${group}/${above}`).catch(() => undefined);
    });
    // A memory limit above the container simulates a machine without free memory.
    await writeFile(`${groups}/memory/${above}/memory.limit_in_bytes`, `${160 << 20}`);
    await using own = await ownEngine(image, [`--cgroup-parent=/${above}`]);
    const code = "def f():\n    b = bytearray(400 << 20)\n    for i in range(0, len(b), 4096): b[i] = 1\n    return 1";
    for (const [memoryMb, result] of [
      [128, { status: "memory", attempts: 1 }],
      [800, { status: "signal", attempts: 3 }],
    ] as const) {
      await using sandbox = await createDockerSandbox({
        connection: own.connection,
        workers: 1,
        container: { memoryMb },
      });
      const task = { kind: "calls", function: "f", cases: [{ args: [] }] } as const;
      const request = {
        language: "python",
        files: { main: code },
        entry: "main",
        task,
        limits: { memoryMb: 600 },
      } as const;
      expect(await sandbox.execute(request)).toMatchObject(result);
    }
  },
);
