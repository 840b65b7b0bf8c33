import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Docker from "dockerode";
import { describe, expect, onTestFinished, test } from "vitest";
import { ownerLabel } from "../../sandbox/docker/container.ts";
import type { ExecuteResult } from "../../sandbox/index.ts";
import { expectAllRight } from "./fault-samples.ts";
import { faultySandboxes, missingRequirement, type SandboxName } from "./faulty-sandboxes.ts";
import { descendants, processes } from "./processes.ts";

/** A process with a sandbox, and the results that it has sent. */
interface Host {
  readonly process: ChildProcess;
  readonly results: ExecuteResult[];
  readonly ended: Promise<unknown>;
}

function startHost(name: SandboxName): Host {
  const child = fork(join(import.meta.dirname, "faults-host-program.ts"), [name]);
  onTestFinished(() => void child.kill("SIGKILL"));
  const results: ExecuteResult[] = [];
  child.on("message", (result: ExecuteResult) => results.push(result));
  return { process: child, results, ended: once(child, "close") };
}

/** The ids of the containers that a process started. */
async function containersOf(pid: number): Promise<readonly string[]> {
  const found = await new Docker().listContainers({ all: true, filters: { label: [ownerLabel] } });
  return found.filter(({ Labels }) => Labels[ownerLabel]?.includes(`"pid":${pid},`) === true).map(({ Id }) => Id);
}

/** Waits until nothing is left that a host started. `started` are its processes. */
async function expectNothingLeft(name: SandboxName, { pid }: ChildProcess, started: readonly number[]): Promise<void> {
  const left = async (): Promise<unknown> => {
    const alive = new Set(processes().map((each) => each.pid));
    const containers = name.startsWith("docker") ? await containersOf(pid!) : [];
    return [...started.filter((each) => alive.has(each)), ...containers];
  };
  await expect.poll(left, { timeout: 60_000 }).toEqual([]);
}

/** Longer than the time limit of the samples. */
const pauseMs = 7_000;

const sandboxes = await Promise.all(
  (Object.keys(faultySandboxes) as SandboxName[]).map(async (name) => ({
    name,
    missing: await missingRequirement(name),
  })),
);

describe.each(sandboxes)("the host of $name", ({ name, missing }) => {
  const title = missing === undefined ? "" : ` (skipped: ${missing})`;

  test.skipIf(missing !== undefined)(
    `is paused during 40 right samples: all stay right and nothing is left${title}`,
    async () => {
      const host = startHost(name);
      await expect.poll(() => host.results.length, { timeout: 120_000 }).toBeGreaterThanOrEqual(4);
      const started = descendants(host.process.pid!).map(({ pid }) => pid);
      host.process.kill("SIGSTOP");
      expect(host.results.length).toBeLessThan(40);
      await sleep(pauseMs);
      host.process.kill("SIGCONT");
      expect(await host.ended).toEqual([0, null]);
      expectAllRight(host.results);
      await expectNothingLeft(name, host.process, started);
    },
  );

  test.skipIf(missing !== undefined).each(["SIGKILL", "SIGTERM"] as const)(
    `is ended by %s during 40 right samples: nothing is left, and the next host gets all right${title}`,
    async (signal) => {
      const host = startHost(name);
      await expect.poll(() => host.results.length, { timeout: 120_000 }).toBeGreaterThanOrEqual(4);
      const started = descendants(host.process.pid!).map(({ pid }) => pid);
      host.process.kill(signal);
      expect(await host.ended).toEqual([null, signal]);
      expect(host.results.length).toBeLessThan(40);
      const next = startHost(name);
      expect(await next.ended).toEqual([0, null]);
      expectAllRight(next.results);
      await expectNothingLeft(name, host.process, started);
    },
  );
});
