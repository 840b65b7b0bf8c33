import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createSandbox } from "../../sandbox/index.ts";
import { containersOf, workersOf } from "./resource-usage.ts";
import { soakBackends } from "./sandbox-backends.ts";

/** As many workers as executions, except if a worker needs hundreds of megabytes. */
const workersFor = { docker: 100, bubblewrap: 100, pyodide: 16, "isolated-vm": 100, auto: 0 };

describe.each(soakBackends)("$backend $missing", ({ backend, language, missing }) => {
  test.skipIf(missing !== "")("kill -9 of the parent of 100 executions leaves nothing", async () => {
    const workers = workersFor[backend];
    const program = join(import.meta.dirname, "sandbox-busy.ts");
    const parent = spawn(process.execPath, [program, backend, `${workers}`], { stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(parent, "exit").then(() => Promise.reject(new Error("The parent ended before it was busy.")));
    await Promise.race([once(parent.stdout, "data"), ended]);
    ended.catch(() => undefined);
    const containers = backend === "docker" ? await containersOf(parent.pid!) : [];
    const processes = workersOf(parent.pid!, containers).map((pid) => ({ pid, started: startOf(pid) }));
    expect(processes.length).toBeGreaterThanOrEqual(workers);
    parent.kill("SIGKILL");
    const killed = performance.now();
    const alive = (): number => processes.filter(({ pid, started }) => startOf(pid) === started).length;
    while (alive() > 0 && performance.now() - killed < 60_000) await sleep(50);
    const seconds = ((performance.now() - killed) / 1000).toFixed(1);
    console.log(`${backend}: ${workers} workers, ${processes.length} processes, none ${seconds} s after the kill`);
    expect(alive()).toBe(0);
    await using next = await createSandbox({ backend, language, workers: 1 });
    void next;
    if (backend === "docker") expect(await containersOf(parent.pid!)).toEqual([]);
  });
});

/** Returns when a process started, in kernel ticks. Undefined after it has ended, even if it is a zombie. */
function startOf(pid: number): string | undefined {
  try {
    // After the name, which may contain spaces: its state, and the 22nd field.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
