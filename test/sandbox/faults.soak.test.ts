import { describe, expect, test } from "vitest";
import type { ExecuteResult } from "../../sandbox/index.ts";
import { slotUid } from "../../sandbox/zygote/slot-uids.ts";
import { expectAllRight, runSamples } from "./fault-samples.ts";
import { type FaultySandbox, faultySandboxes, missingRequirement, type SandboxName } from "./faulty-sandboxes.ts";
import { commandOf, containerProcesses, ownContainers, ownProcesses, type ProcessEntry } from "./processes.ts";

/** A sandbox, and how to find its processes. */
interface WatchedSandbox extends FaultySandbox {
  readonly name: SandboxName;
  /** The processes that run jobs, or that start such processes. */
  readonly workers: () => Promise<readonly ProcessEntry[]>;
  readonly faults: readonly string[];
}

const ofWorkers = ["the worker is killed", "the worker is stopped"];
const ofCandidates = [
  "the candidate is killed",
  "the candidate is stopped",
  "its server is killed",
  "its server is stopped",
];
const ofContainers = [
  "the container is killed",
  "the container is paused",
  "the container is stopped",
  "the container is removed",
];

const watched: readonly Pick<WatchedSandbox, "name" | "workers" | "faults">[] = [
  { name: "docker", workers: containerProcesses, faults: [...ofWorkers, ...ofCandidates, ...ofContainers] },
  { name: "docker-javascript", workers: containerProcesses, faults: [...ofWorkers, ...ofContainers] },
  { name: "bubblewrap", workers: ownProcesses, faults: [...ofWorkers, ...ofCandidates] },
  { name: "pyodide", workers: ownProcesses, faults: ofWorkers },
  { name: "isolated-vm", workers: ownProcesses, faults: ofWorkers },
];

const firstCandidate = slotUid(0);

/** Causes one fault. Returns false if there was no process to affect. */
async function bringAbout(fault: string, { workers }: Pick<WatchedSandbox, "workers">): Promise<boolean> {
  const [, what, deed] = /^(?:the |its )(\w+) is (\w+)$/.exec(fault)!;
  if (what === "container") {
    // A process that already waits would be affected again with the same sample, which then fails twice.
    const container = (await ownContainers(["running"]))[0];
    if (container === undefined) return false;
    if (deed === "killed") await container.kill();
    else if (deed === "paused") await container.pause();
    else if (deed === "stopped") await container.stop({ t: 1 });
    else await container.remove({ force: true });
    return true;
  }
  const all = await workers();
  const candidate = all.find(({ uid }) => uid >= firstCandidate);
  // For bubblewrap, the inner process, because nothing waits for the outer one.
  const worker = all.find(({ pid }) => !commandOf(pid).startsWith("bwrap"));
  const pid = what === "worker" ? worker?.pid : what === "candidate" ? candidate?.pid : candidate?.parent;
  if (pid === undefined) return false;
  try {
    process.kill(pid, deed === "killed" ? "SIGKILL" : "SIGSTOP");
    return true;
  } catch {
    return false;
  }
}

describe.each(
  await Promise.all(
    watched.map(async (each) => ({
      ...faultySandboxes[each.name],
      ...each,
      missing: await missingRequirement(each.name),
    })),
  ),
)("faults of $name", (faulty) => {
  const { name, language, open, workers, faults, missing } = faulty;
  const title = missing === undefined ? "" : ` (${name} skipped: ${missing})`;

  test.skipIf(missing !== undefined).each(faults)(
    `%s during 40 right samples: all stay right and nothing is left${title}`,
    async (fault) => {
      {
        await using sandbox = await open({ workers: 2 });
        await sandbox.warmUp();
        const results: ExecuteResult[] = [];
        const samples = runSamples(sandbox, { language }, (result) => results.push(result));
        // Once near the beginning and once later.
        for (const count of [1, 12]) {
          await expect.poll(() => results.length, { timeout: 60_000 }).toBeGreaterThanOrEqual(count);
          await expect.poll(() => bringAbout(fault, faulty), { timeout: 60_000 }).toBe(true);
        }
        await samples;
        expectAllRight(results);
        // The fault has affected some samples.
        expect(results.filter(({ attempts }) => attempts > 1).length).toBeGreaterThan(0);
      }
      await expect.poll(workers, { timeout: 30_000 }).toEqual([]);
    },
  );
});
