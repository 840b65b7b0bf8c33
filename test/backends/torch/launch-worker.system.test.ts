import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { WorkerProcess } from "../../../trainers/backends/torch/worker-process.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

afterEach(() => vi.unstubAllEnvs());

/** Makes an executable that is started instead of Python, and a folder for temporary files. */
async function prepare(script: string): Promise<{ readonly python: string; readonly temporary: string }> {
  const folder = await temporaryFolder();
  const python = path.join(folder, "python");
  await writeFile(python, `#!/bin/sh\n${script}\n`);
  await chmod(python, 0o755);
  const temporary = path.join(folder, "tmp");
  await mkdir(temporary);
  vi.stubEnv("TMPDIR", temporary);
  return { python, temporary };
}

describe.each([1, 2])("a worker of %d processes that does not start leaves no files", (processes) => {
  it.each([0, 1, 20, 300])("if it is aborted after %d ms", async (delay) => {
    const { python, temporary } = await prepare('mkdir "$TMPDIR/torchelastic"; exec sleep 60');
    const started = WorkerProcess.start(python, { processes }, AbortSignal.timeout(delay));
    await expect(started).rejects.toMatchObject({ name: "TimeoutError" });
    expect(await readdir(temporary)).toEqual([]);
  });

  it("if it ends", async () => {
    const { python, temporary } = await prepare('touch "$TMPDIR/left"; exit 3');
    await expect(WorkerProcess.start(python, { processes })).rejects.toMatchObject({ code: "backend.failed" });
    expect(await readdir(temporary)).toEqual([]);
  });

  it("if its interpreter is missing", async () => {
    const { python, temporary } = await prepare("");
    await expect(WorkerProcess.start(`${python}-none`, { processes })).rejects.toMatchObject({
      code: "backend.unsupported",
    });
    expect(await readdir(temporary)).toEqual([]);
  });
});

describe("a worker of several processes", () => {
  it("leaves no files if the path of its socket is too long", async () => {
    const { python, temporary } = await prepare("exit 0");
    const long = path.join(temporary, "x".repeat(120));
    await mkdir(long);
    vi.stubEnv("TMPDIR", long);
    await expect(WorkerProcess.start(python, { processes: 2 })).rejects.toMatchObject({
      code: "backend.failed",
      hint: expect.stringMatching(/TMPDIR/),
    });
    expect(await readdir(long)).toEqual([]);
  });
});
