import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { rm, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { recordRun } from "../../../reports/training/record-run.ts";
import { folderSource } from "../../../reports/viewer/folder-source.ts";
import { lockMetrics, lockPath } from "../../../src/core/files/run-lock.ts";
import { runFolder } from "../../../src/evaluation/log/run-folder.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { evaluatePair, trainingEvents, writeTraining } from "./runs.ts";

/** Creates the lock of a run that has not ended, and returns the run's status. */
type Unfinished = (lock?: object) => Promise<string>;

async function unfinishedTraining(): Promise<{ readonly folder: string; readonly files: readonly string[] }> {
  const folder = temporaryFolder();
  await writeTraining(folder, trainingEvents(9, 3));
  return { folder, files: [join(folder, "metrics.jsonl")] };
}

async function unfinishedEvaluation(): Promise<{ readonly folder: string; readonly files: readonly string[] }> {
  const folder = temporaryFolder();
  await evaluatePair(folder, { tasks: 3 });
  const { summary, index, manifest } = runFolder(folder);
  await rm(summary);
  return { folder, files: [index, manifest] };
}

describe.each([
  ["a training", unfinishedTraining],
  ["an evaluation", unfinishedEvaluation],
])("the status of %s that has not ended", (_, unfinished) => {
  it("is that of its process: running while it lives, stopped after a kill", async () => {
    const { folder } = await unfinished();
    const statusOf: Unfinished = async (lock) => {
      if (lock !== undefined) await writeFile(lockPath(folder), JSON.stringify(lock));
      return (await folderSource(folder).runs()).runs[0]!.status;
    };
    expect(await statusOf()).toBe("stopped");
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { stdio: "ignore" });
    const owner = { id: "one", pid: child.pid, host: hostname() };
    expect(await statusOf(owner)).toBe("running");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await statusOf()).toBe("stopped");
    expect(await statusOf({ ...owner, pid: process.pid, started: "another boot 1" })).toBe("stopped");
    expect(await statusOf({ nonsense: true })).toBe("stopped");
    await rm(lockPath(folder));
    // Nobody writes to this pipe.
    execFileSync("mkfifo", [lockPath(folder)]);
    expect(await statusOf()).toBe("stopped");
  });

  it("on another machine is running while its files change", async () => {
    const { folder, files } = await unfinished();
    await writeFile(lockPath(folder), JSON.stringify({ id: "one", pid: 1, host: "elsewhere" }));
    const source = folderSource(folder);
    expect((await source.runs()).runs[0]!.status).toBe("running");
    for (const file of files) await utimes(file, 0, 0);
    expect((await source.run(".")).status).toBe("stopped");
  });
});

describe("a training that is recorded", () => {
  it("locks its folder while it runs, and no other run may write there", async () => {
    const folder = temporaryFolder();
    const events = recordRun(asyncEvents(), { folder });
    for await (const event of events) {
      if (event.type !== "step") continue;
      expect((await folderSource(folder).run(".")).status).toBe("running");
      await expect(lockMetrics(folder)).rejects.toMatchObject({ code: "config.invalid" });
      const other = recordRun(asyncEvents(), { folder });
      await expect(other.next()).rejects.toMatchObject({ code: "config.invalid" });
      break;
    }
    expect((await folderSource(folder).run(".")).status).toBe("stopped");
    await using _free = await lockMetrics(folder);
  });
});

async function* asyncEvents() {
  yield* trainingEvents(9);
}
