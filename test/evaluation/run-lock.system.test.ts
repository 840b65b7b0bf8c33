import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { lockRun } from "../../src/core/files/run-lock.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { contentHash } from "../../src/core/taskset/content-hash.ts";
import { evaluate } from "../../src/evaluation/evaluate.ts";
import { answers, evaluated, temporaryFolder } from "./answer-environment.ts";

const lockOf = (folder: string): string => join(folder, "run.lock");
const busy = { code: "config.invalid", message: expect.stringContaining("is being written") };

/** A process that runs until the test ends it. */
async function otherProcess(): Promise<{ readonly pid: number; end(): Promise<void> }> {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6); console.log('up')"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  await once(child.stdout!, "data");
  const end = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  onTestFinished(end);
  return { pid: child.pid!, end };
}

describe("the lock of a run", () => {
  test("is exclusive until it is released, and then leaves no file", async () => {
    const folder = await temporaryFolder();
    const lock = await lockRun(folder);
    const { pid, host } = JSON.parse(await readFile(lockOf(folder), "utf8"));
    expect([pid, host]).toEqual([process.pid, hostname()]);
    await expect(lockRun(folder)).rejects.toMatchObject({ ...busy, data: { folder, pid } });
    await lock[Symbol.asyncDispose]();
    expect(await readdir(folder)).toEqual([]);
    await using _again = await lockRun(folder);
  });

  test("of a running process is respected, and that of an ended process is taken over", async () => {
    const folder = await temporaryFolder();
    const { pid, end } = await otherProcess();
    const owner = { id: "x", pid, host: hostname() };
    await writeFile(lockOf(folder), JSON.stringify(owner));
    await expect(lockRun(folder)).rejects.toMatchObject({
      ...busy,
      message: expect.stringContaining(`process ${pid}`),
      hint: expect.stringContaining("run.lock"),
    });
    await end();
    await using _lock = await lockRun(folder);
    expect(await readdir(folder)).toEqual(["run.lock"]);
  });

  test.runIf(process.platform === "linux")(
    "of an ended process is distinguished from a running process with the same id",
    async () => {
      const folder = await temporaryFolder();
      const { pid } = await otherProcess();
      for (const number of [pid, process.pid]) {
        const owner = { id: "x", pid: number, host: hostname(), started: "another boot 123" };
        await writeFile(lockOf(folder), JSON.stringify(owner));
        await using _lock = await lockRun(folder);
      }
    },
  );

  test("of another machine is respected, and an invalid lock file is not", async () => {
    const folder = await temporaryFolder();
    await writeFile(lockOf(folder), JSON.stringify({ id: "x", pid: 1, host: "elsewhere" }));
    await expect(lockRun(folder)).rejects.toMatchObject({ message: expect.stringContaining("on elsewhere") });
    for (const text of ["", '{"pid": 12', "null", "[]"]) {
      await writeFile(lockOf(folder), text);
      await using _lock = await lockRun(folder);
    }
  });

  test("goes to exactly one of many processes that find it stale at the same time", async () => {
    const folder = await temporaryFolder();
    const { pid, end } = await otherProcess();
    await end();
    for (let round = 0; round < 20; round++) {
      await writeFile(lockOf(folder), JSON.stringify({ id: `stale ${round}`, pid, host: hostname() }));
      const late = async (ms: number) => {
        await new Promise((resolve) => setTimeout(resolve, ms));
        return lockRun(folder);
      };
      const tries = await Promise.allSettled(Array.from({ length: 40 }, (_, index) => late(index / 4)));
      const locks = tries.filter((result) => result.status === "fulfilled");
      expect(locks).toHaveLength(1);
      for (const result of tries) if (result.status === "rejected") expect(result.reason).toMatchObject(busy);
      await locks[0]!.value[Symbol.asyncDispose]();
      expect(await readdir(folder)).toEqual([]);
    }
  });

  test("removes what processes left that were killed while they took it, and nothing else", async () => {
    const folder = await temporaryFolder();
    const { pid, end } = await otherProcess();
    const running = JSON.stringify({ id: "x", pid: process.pid, host: hostname() });
    const ended = JSON.stringify({ id: "x", pid, host: hostname() });
    await end();
    const machine = contentHash(hostname()).slice(0, 8);
    const name = (where: string, process: number): string => `run.lock.${where}-${process}-${crypto.randomUUID()}`;
    const write = async (names: Readonly<Record<string, string>>): Promise<string[]> => {
      for (const [name, text] of Object.entries(names)) await writeFile(join(folder, name), text);
      return Object.keys(names);
    };
    const [old] = await write({ [name("00000000", pid)]: "" });
    await utimes(join(folder, old!), 0, 0);
    await write({ [name(machine, pid)]: ended, "run.lock.0123456789ab": ended, [name(machine, pid)]: "{" });
    const kept = await write({
      [name(machine, process.pid)]: running,
      [name(machine, process.pid)]: "{",
      [name("00000000", pid)]: "",
      "run.lock.txt": ended,
    });
    await using _lock = await lockRun(folder);
    expect((await readdir(folder)).sort()).toEqual(["run.lock", ...kept].sort());
  });

  test("that another process has taken over is not released", async () => {
    const folder = await temporaryFolder();
    const lock = await lockRun(folder);
    await writeFile(lockOf(folder), "another's");
    await lock[Symbol.asyncDispose]();
    expect(await readFile(lockOf(folder), "utf8")).toBe("another's");
  });

  test("fails if its folder does not exist", async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, "file"), "");
    await expect(lockRun(join(folder, "file"))).rejects.toMatchObject({ code: "trace.write-failed" });
  });
});

test("two evaluations never write the same run, and the second does not damage the first", async () => {
  const folder = await temporaryFolder();
  const environment = answers([{ n: 0 }, { n: 1 }]);
  const { promise: asked, resolve: onAsked } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const policies = scriptedPolicy(
    async () => {
      onAsked();
      await released;
      return "1";
    },
    { name: "slow" },
  );
  const first = Array.fromAsync(evaluate({ environment, policies, folder }));
  await asked;
  for (const existing of ["refuse", "resume", "retry-failed"] as const) {
    await expect(Array.fromAsync(evaluate({ environment, policies, folder, existing }))).rejects.toMatchObject(busy);
  }
  release();
  const end = (await first).at(-1)!;
  expect(end).toMatchObject({ type: "end", summary: { counts: { scored: 2, correct: 2 } } });
  expect(await readdir(folder)).not.toContain("run.lock");
});

test("a run releases its folder if the consumer leaves the iteration", async () => {
  const folder = await temporaryFolder();
  const environment = answers([{ n: 0 }, { n: 1 }]);
  const policies = scriptedPolicy(["1"], { name: "table" });
  for await (const event of evaluate({ environment, policies, folder })) if (event.type === "start") break;
  expect(await readdir(folder)).not.toContain("run.lock");
  expect((await evaluated([["1"], ["0"]], { folder, existing: "resume" })).counts).toMatchObject({ scored: 2 });
});
