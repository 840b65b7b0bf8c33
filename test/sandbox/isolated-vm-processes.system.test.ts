import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { createIsolatedVmSandbox } from "../../sandbox/isolated-vm/isolated-vm-sandbox.ts";
import { checkResult } from "../../sandbox/pool/worker-result.ts";
import { callsOf, float, isAlive, runJavaScript } from "./isolated-vm-sandbox.ts";

const same = "const f = (x) => x;";
const loop = "function f() { while (1); }";
/** A limit that is never reached. */
const limits = { cpuMs: 100_000, wallMs: 100_000 };

/** Returns the child processes of this process, from /proc. */
function workersOf(parent: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const status = readFileSync(`/proc/${name}/status`, "utf8");
        const isChild = status.includes(`\nPPid:\t${parent}\n`) && !/\nState:\tZ/.test(status);
        return isChild && readFileSync(`/proc/${name}/cmdline`, "utf8").includes("isolated-vm/child");
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** Kills a process, unless it has ended since it was found. */
function killIfAlive(pid: number): void {
  if (isAlive(pid)) process.kill(pid, "SIGKILL");
}

const workersHere = (): number[] => workersOf(process.pid);

describe.skipIf(!existsSync("/proc/self/status"))("processes of the isolated-vm sandbox", () => {
  test("a worker that is killed during a job costs a retry and nothing else", async () => {
    await using sandbox = createIsolatedVmSandbox({ workers: 1 });
    await sandbox.warmUp();
    const [first] = workersHere();
    // No attempt ends before that moment, even if the kill is late. The second one ends soon after it.
    const slow = `function f(x) { while (Date.now() < ${Date.now() + 3_000}); return x; }`;
    const running = runJavaScript(sandbox, slow, callsOf("f", [float(1)]), { limits });
    await expect.poll(() => sandbox.stats().running).toBe(1);
    process.kill(first!, "SIGKILL");
    expect(await running).toMatchObject({ status: "ok", attempts: 2, cases: [{ value: float(1) }] });
    expect(workersHere()).toHaveLength(1);
    expect(workersHere()).not.toContain(first);
  });

  test("a job whose worker is killed in each attempt fails, and the next job succeeds", async () => {
    await using sandbox = createIsolatedVmSandbox({ workers: 1 });
    const running = runJavaScript(sandbox, loop, callsOf("f", []), { limits });
    const ended = running.then(() => true);
    while (!(await Promise.race([ended, sleep(20, false)]))) {
      if (sandbox.stats().running === 1) for (const pid of workersHere()) killIfAlive(pid);
    }
    // JavaScript cannot send signals, so the machine is at fault.
    expect(await running).toMatchObject({ status: "infra_error", attempts: 3 });
    expect((await runJavaScript(sandbox, same, callsOf("f", [null]))).status).toBe("ok");
  });

  test("a worker that is killed while idle is replaced unnoticed", async () => {
    await using sandbox = createIsolatedVmSandbox({ workers: 1 });
    await sandbox.warmUp();
    const [pid] = workersHere();
    process.kill(pid!, "SIGKILL");
    await expect.poll(() => isAlive(pid!)).toBe(false);
    expect(await runJavaScript(sandbox, same, callsOf("f", [null]))).toMatchObject({ status: "ok" });
  });

  test("a worker that is stopped reaches the time limit and is killed", async () => {
    await using sandbox = createIsolatedVmSandbox({ workers: 1 });
    await sandbox.warmUp();
    const [pid] = workersHere();
    process.kill(pid!, "SIGSTOP");
    const result = await runJavaScript(sandbox, same, callsOf("f", [null]), { limits: { wallMs: 2_000 } });
    expect(result).toMatchObject({ status: "ok", attempts: 2 });
    expect(isAlive(pid!)).toBe(false);
  });

  test("an abort kills uninterruptible code, and nothing else", async () => {
    await using sandbox = createIsolatedVmSandbox({ workers: 2 });
    await sandbox.warmUp();
    const controller = new AbortController();
    const stuck = "function f() { let x = 3n; for (;;) x = x * x; }";
    const doomed = runJavaScript(sandbox, stuck, callsOf("f", []), { signal: controller.signal, limits });
    const slow = "function f(x) { for (const end = Date.now() + 300; Date.now() < end; ); return x; }";
    const other = runJavaScript(sandbox, slow, callsOf("f", [float(1)]));
    await expect.poll(() => sandbox.stats().running).toBe(2);
    controller.abort();
    expect(await doomed).toMatchObject({ status: "aborted", attempts: 1 });
    expect(await other).toMatchObject({ status: "ok", attempts: 1 });
    expect((await runJavaScript(sandbox, same, callsOf("f", [null]))).status).toBe("ok");
  });

  test("a pool still works after a hundred executions are aborted at the same time", async () => {
    await using sandbox = createIsolatedVmSandbox({ workers: 2 });
    const controller = new AbortController();
    const all = Array.from({ length: 100 }, () =>
      runJavaScript(sandbox, loop, callsOf("f", []), { signal: controller.signal, limits }),
    );
    await expect.poll(() => sandbox.stats().running).toBe(2);
    controller.abort();
    const statuses = new Set((await Promise.all(all)).map(({ status }) => status));
    expect([...statuses]).toEqual(["aborted"]);
    expect((await runJavaScript(sandbox, same, callsOf("f", [null]))).status).toBe("ok");
  });

  test("closing ends every process, also during jobs and starts", async () => {
    for (const warm of [true, false]) {
      const sandbox = createIsolatedVmSandbox({ workers: 2, spares: 1 });
      if (warm) await sandbox.warmUp();
      const all = Array.from({ length: 4 }, () => runJavaScript(sandbox, loop, callsOf("f", [])));
      await expect.poll(() => workersHere().length).toBeGreaterThan(0);
      await sandbox[Symbol.asyncDispose]();
      expect(workersHere()).toEqual([]);
      for (const { status } of await Promise.all(all)) expect(status).toBe("aborted");
    }
  });

  test("no process is left if the process with the sandbox is killed", async () => {
    const program = fileURLToPath(new URL("./isolated-vm-host.ts", import.meta.url));
    const host = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
    await once(host.stdout, "data");
    const workers = workersOf(host.pid!);
    expect(workers).toHaveLength(4);
    host.kill("SIGKILL");
    await once(host, "exit");
    await expect.poll(() => workers.filter(isAlive)).toEqual([]);
  });

  test("a process is replaced after its number of jobs, and after its memory has grown", async () => {
    await using sandbox = createIsolatedVmSandbox({ workers: 1, maxJobs: 3 });
    for (let i = 0; i < 7; i++) await runJavaScript(sandbox, same, callsOf("f", [null]));
    expect(sandbox.stats()).toMatchObject({ workersKilled: 2, byStatus: { ok: 7 } });
    await using small = createIsolatedVmSandbox({ workers: 1, maxRssMb: 10 });
    const long = "function f() { for (const end = Date.now() + 100; Date.now() < end; ); }";
    for (let i = 0; i < 2; i++) await runJavaScript(small, long, callsOf("f", []));
    expect(small.stats().workersStarted).toBe(2);
  });

  test("many executions in one process do not grow its memory", async () => {
    await using sandbox = createIsolatedVmSandbox({ workers: 1 });
    const run = async (count: number): Promise<number> => {
      for (let i = 0; i < count; i++) {
        const { status } = await runJavaScript(sandbox, same, callsOf("f", [{ list: [float(i)] }]));
        expect(status).toBe("ok");
      }
      const [pages] = readFileSync(`/proc/${workersHere()[0]}/statm`, "utf8").split(" ").slice(1);
      return (Number(pages) * 4096) / 2 ** 20;
    };
    const before = await run(300);
    const after = await run(700);
    expect(after - before).toBeLessThan(40);
    expect(sandbox.stats().workersStarted).toBe(1);
  });
});

describe("results of workers", () => {
  const job = {
    id: "a",
    request: { language: "javascript", files: { a: "" }, entry: "a", task: callsOf("f", [], []) },
    limits: {
      cpuMs: 1,
      wallMs: 1,
      memoryMb: 1,
      outputBytes: 10,
      resultBytes: 10,
      processes: 1,
      openFiles: 1,
      temporaryMb: 1,
      depth: 2,
    },
    seed: 0,
  } as const;
  const output = { text: "", bytes: 0, truncated: false };
  const good = {
    status: "ok",
    cases: [
      { index: 0, outcome: "returned", value: float(1), cpuMs: 0 },
      { index: 1, outcome: "raised", error: { type: "Error", message: "" }, cpuMs: 0 },
    ],
    stdout: output,
    stderr: output,
    exit: { code: null, signal: null },
    usage: { cpuMs: 0, wallMs: 0, peakRssKb: 0, swept: 0 },
    integrity: { nonceOk: true, flags: [] },
  };
  const [first, second] = good.cases;
  const forged: [name: string, value: unknown][] = [
    ["nothing", null],
    ["no cases", { ...good, cases: undefined }],
    ["a case too few", { ...good, cases: [first] }],
    ["a case too many", { ...good, cases: [first, second, { ...second, index: 2 }] }],
    ["a case twice", { ...good, cases: [first, { ...first }] }],
    ["cases in another order", { ...good, cases: [second, first] }],
    ["a missing case of an ok job", { ...good, cases: [first, { index: 1, outcome: "missing", cpuMs: 0 }] }],
    ["an outcome of its own", { ...good, cases: [first, { ...second, outcome: "passed" }] }],
    ["a value that is not plain", { ...good, cases: [{ ...first, value: 1 }, second] }],
    [
      "a value that is too deep",
      { ...good, cases: [{ ...first, value: { list: [{ list: [{ list: [] }] }] } }, second] },
    ],
    ["a status of its own", { ...good, status: "passed" }],
    ["an infra error, which would not be scored", { ...good, status: "infra_error" }],
    ["output beyond its limit", { ...good, stdout: { ...output, text: "01234567890" } }],
    ["times that are no numbers", { ...good, usage: { ...good.usage, cpuMs: "1" } }],
    ["negative times", { ...good, usage: { ...good.usage, cpuMs: -1 } }],
    ["flags that are no words", { ...good, integrity: { nonceOk: true, flags: [1] } }],
    ["an exit code that is no number", { ...good, exit: { code: "0", signal: null } }],
  ];

  test("a valid one passes", () => {
    expect(checkResult(good, job)).toBe(true);
  });

  test.each(forged)("%s does not pass", (_, value) => {
    expect(checkResult(value, job)).toBe(false);
  });
});
