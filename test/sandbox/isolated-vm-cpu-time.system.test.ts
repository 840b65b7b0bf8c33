import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createIsolatedVmSandbox } from "../../sandbox/isolated-vm/isolated-vm-sandbox.ts";
import { callsOf, runJavaScript } from "./isolated-vm-sandbox.ts";

/** Returns the child processes of this process. */
function children(): number[] {
  return readdirSync("/proc").flatMap((name) => {
    try {
      const isChild = readFileSync(`/proc/${Number(name)}/status`, "utf8").includes(`PPid:\t${process.pid}\n`);
      return isChild ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

/** Returns the processor time of some processes so far, in ticks of 10 ms. */
function ticksOf(pids: readonly number[]): number {
  const fields = pids.map((pid) => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" "));
  return fields.reduce((sum, field) => sum + Number(field[11]) + Number(field[12]), 0);
}

test("time in which a worker has no processor does not count as processor time of its job", async () => {
  const before = new Set(children());
  await using sandbox = createIsolatedVmSandbox({ workers: 1 });
  await sandbox.warmUp();
  const workers = children().filter((pid) => !before.has(pid));
  expect(workers.length).toBeGreaterThan(0);
  const code = "function f() { let x = 0; for (let i = 0; i < 2e8; i++) x = (31 * x + i) | 0; return x; }";
  const limits = { cpuMs: 5_000, wallMs: 280_000 };
  const idle = ticksOf(workers);
  const running = runJavaScript(sandbox, code, callsOf("f", []), { limits });
  // In the loop: on a busy machine, that is long after the start.
  while (ticksOf(workers) < idle + 3) await sleep(5);
  for (const pid of workers) process.kill(pid, "SIGSTOP");
  await sleep(6_000);
  for (const pid of workers) process.kill(pid, "SIGCONT");
  const { status, usage } = await running;
  expect(status).toBe("ok");
  expect(usage.wallMs).toBeGreaterThan(6_000);
  expect(usage.cpuMs).toBeLessThan(5_000);
});
