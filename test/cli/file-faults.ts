import { existsSync } from "node:fs";
import { cp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, type TestContext } from "vitest";
import { createRandom } from "../../src/core/random/random.ts";
import { readTrace } from "../../src/core/trace/read-trace.ts";
import { readSummary } from "../../src/evaluation/log/read-log.ts";
import { evalFolder, timeless } from "./eval-folder.ts";
import { folderContents, type LyceumResult, lyceum, tinyConfig } from "./run-lyceum.ts";
import { fillDisk, mountDisk } from "./small-disk.ts";

/** A command that writes files, as the fault tests use it. */
export interface Job {
  readonly words: (output: string) => readonly string[];
  /** What exists once it has begun to write. Undefined if everything is written at once. */
  readonly begun?: (output: string) => string;
  /** The arguments that continue an existing run. */
  readonly goOn: readonly string[];
  /** The content that must be equal at the end, with and without the fault. */
  readonly result: (output: string) => Promise<unknown>;
}

/** The commands that write files. */
export type JobName = "train" | "eval" | "collect" | "export";

/** The commands, in a folder of {@link faultsFolder}. */
export function jobsIn(folder: string): Readonly<Record<JobName, Job>> {
  const models = async (output: string): Promise<unknown> => {
    const files = Object.entries(await folderContents(join(folder, output)));
    return files.filter(([name]) => /\bmodel\//.test(name)).toSorted();
  };
  return {
    train: {
      words: (output) => {
        const settings = ["training.steps=24", "checkpoint.every=3", "checkpoint.keep=2", "rollout.trace=true"];
        return ["train", "-c", "tiny.yaml", "-o", output, ...settings.flatMap((setting) => ["-s", setting])];
      },
      begun: (output) => join(folder, output, "trace.jsonl"),
      goOn: ["--resume"],
      result: async (output) => {
        const episodes = await Array.fromAsync(readTrace(join(folder, output, "trace.jsonl")));
        return [await models(output), episodes.map(({ id }) => id)];
      },
    },
    eval: {
      words: (output) => "eval --env ./uneven.ts -m demonstration --samples 2".split(" ").concat("-o", output),
      begun: (output) => join(folder, output, "index.jsonl"),
      goOn: ["--resume"],
      result: async (output) => {
        const episodes = await Array.fromAsync(readTrace(join(folder, output, "episodes.jsonl")));
        return [timeless(await readSummary(join(folder, output))), episodes.map(({ id }) => id).toSorted()];
      },
    },
    collect: {
      words: (output) => ["collect", "-e", "./uneven.ts", "-g", "2", "-o", `${output}.jsonl`],
      begun: (output) => join(folder, `${output}.jsonl.progress`),
      goOn: ["--resume"],
      result: async (output) => {
        const { counts, tasks, bytes } = JSON.parse(await readFile(join(folder, `${output}.jsonl.progress`), "utf8"));
        return [await readFile(join(folder, `${output}.jsonl`), "utf8"), { ...counts, rewards: 0 }, tasks, bytes];
      },
    },
    export: {
      words: (output) => ["export", "trained/checkpoints/step-000003", "-o", output],
      goOn: [],
      result: (output) => folderContents(join(folder, output)),
    },
  };
}

/**
 * Creates a folder with `uneven.ts`, `tiny.yaml` and, in `trained`, a run of three steps. It is removed when the test
 * ends.
 */
export async function faultsFolder(): Promise<string> {
  const folder = await evalFolder();
  await writeFile(join(folder, "tiny.yaml"), tinyConfig);
  expect(await lyceum(["train", "-c", "tiny.yaml", "-o", "trained"], { folder })).toMatchObject({ code: 0 });
  return folder;
}

/**
 * Expects an error that a person can act on: a code, what happened, and in the next line what to do, without a stack.
 */
export function expectTyped({ stderr, code }: LyceumResult): void {
  expect(code).toBeGreaterThan(0);
  expect(stderr).toMatch(/^error\[[a-z]+\.[a-z-]+\]: \S.*\n {2}\S+ \S+/);
  expect(stderr).not.toMatch(/\n\s+at /);
}

/** Expects no file that only exists while something is written. */
export async function expectTidy(folder: string, output: string): Promise<void> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.startsWith(output));
  expect(names.filter((name) => /\.(tmp|partial|old|lock)\b/.test(name))).toEqual([]);
}

/**
 * Resumes the run until it is complete. A command that reports that there is nothing to resume is started again, as its
 * error suggests.
 */
export async function complete(job: Job, output: string, options: Parameters<typeof lyceum>[1]): Promise<LyceumResult> {
  const resumed = await lyceum([...job.words(output), ...job.goOn], options);
  if (resumed.code === 0) return resumed;
  expectTyped(resumed);
  if (!/Start the run without resuming|an export needs a new folder/.test(resumed.stderr)) return resumed;
  if (resumed.stderr.includes("an export needs a new folder")) return { ...resumed, code: 0 };
  return await lyceum(job.words(output), options);
}

/** Kills a command at random times, each time with a new output, and resumes it to its end. */
export async function killAtRandomPoints(
  name: JobName,
  options: { readonly kills: number; readonly seed: number },
): Promise<void> {
  const folder = await faultsFolder();
  const job = jobsIn(folder)[name];
  const begun = performance.now();
  expect(await lyceum(job.words("straight"), { folder })).toMatchObject({ code: 0 });
  const lasts = performance.now() - begun;
  const expected = await job.result("straight");
  const random = createRandom(options.seed);
  let died = 0;
  for (let kill = 0; kill < options.kills; kill++) {
    const output = `killed-${kill}`;
    const { signal } = await lyceum(job.words(output), {
      folder,
      onOutput: (text, child) => {
        if (text === "") setTimeout(() => child.kill("SIGKILL"), random.next() * lasts);
      },
    });
    if (signal === "SIGKILL") died += 1;
    expect(await complete(job, output, { folder }), output).toMatchObject({ code: 0 });
    expect(await job.result(output), output).toEqual(expected);
    await expectTidy(folder, output);
    await rm(join(folder, output), { recursive: true, force: true });
  }
  expect(died).toBeGreaterThanOrEqual(Math.floor(options.kills / 3));
}

/** Runs a command on a disk with too little space, then with enough, for each share of the space that it needs. */
export async function fillTheDisk(name: JobName, shares: readonly number[], context: TestContext): Promise<void> {
  const folder = await faultsFolder();
  const disk = await mountDisk(folder, context);
  const job = jobsIn(folder)[name];
  expect(await lyceum(job.words("disk/straight"), { folder })).toMatchObject({ code: 0 });
  const expected = await job.result("disk/straight");
  const needs = await usedBytes(disk);
  for (const share of shares) {
    for (const entry of await readdir(disk)) await rm(join(disk, entry), { recursive: true });
    await fillDisk(disk, Math.floor(share * needs));
    const full = await lyceum(job.words("disk/out"), { folder });
    if (full.code !== 0) {
      expectTyped(full);
      expect(full.stderr).toMatch(/\(ENOSPC\)/);
    }
    await rm(join(disk, "filler"));
    expect(await complete(job, "disk/out", { folder }), `${share}`).toMatchObject({ code: 0 });
    expect(await job.result("disk/out"), `${share}`).toEqual(expected);
    await expectTidy(disk, "out");
  }
}

async function usedBytes(disk: string): Promise<number> {
  const names = await readdir(disk, { recursive: true, withFileTypes: true });
  const sizes = await Promise.all(
    names
      .filter((entry) => entry.isFile())
      .map(async ({ parentPath, name }) => (await readFile(join(parentPath, name))).length),
  );
  return sizes.reduce((sum, size) => sum + 4096 * Math.ceil(size / 4096), 0);
}

/** The kinds of damage to a file of a checkpoint. */
export type Damage = "truncated" | "zeroed" | "with one bit flipped";

const damages: Readonly<Record<Damage, (path: string) => Promise<void>>> = {
  truncated: async (path) => truncate(path, Math.floor((await readFile(path)).length / 2)),
  zeroed: async (path) => writeFile(path, new Uint8Array((await readFile(path)).length)),
  "with one bit flipped": async (path) => {
    const bytes = await readFile(path);
    bytes[bytes.length >> 1]! ^= 4;
    await writeFile(path, bytes);
  },
};

/** Damages each file of the newest checkpoint in several ways, and resumes: the run must end as without the damage. */
export async function damageEachFile(kinds: readonly Damage[]): Promise<void> {
  const folder = await faultsFolder();
  const job = jobsIn(folder).train;
  expect(await lyceum(job.words("straight"), { folder })).toMatchObject({ code: 0 });
  const expected = await job.result("straight");
  expect(await lyceum([...job.words("stopped"), "-s", "training.steps=12"], { folder })).toMatchObject({ code: 0 });
  const newest = "checkpoints/step-000012";
  const files = Object.keys(await folderContents(join(folder, "stopped", newest)));
  expect(files.toSorted()).toEqual(["manifest.json", "model/state.json", "model/state.safetensors"]);
  for (const file of files) {
    for (const kind of kinds) {
      await rm(join(folder, "damaged"), { recursive: true, force: true });
      await cp(join(folder, "stopped"), join(folder, "damaged"), { recursive: true });
      await damages[kind](join(folder, "damaged", newest, file));
      const resumed = await lyceum([...job.words("damaged"), ...job.goOn], { folder });
      expect(resumed, `${file} ${kind}`).toMatchObject({ code: 0, stderr: "" });
      expect(resumed.stdout).toMatch(
        /warning at step 9: The checkpoint damaged\/checkpoints\/step-000012 is damaged: /,
      );
      expect(resumed.stdout).toContain("resumed from step 9\n");
      await rm(join(folder, "damaged", `${newest}.damaged`), { recursive: true });
      expect(await job.result("damaged"), `${file} ${kind}`).toEqual(expected);
    }
  }
}

/** Starts a command a second time while the first one writes: the second is refused, and the first loses nothing. */
export async function runTwice(name: Exclude<JobName, "export">): Promise<void> {
  const folder = await faultsFolder();
  const job = jobsIn(folder)[name];
  expect(await lyceum(job.words("straight"), { folder })).toMatchObject({ code: 0 });
  const writes = job.begun!("twice");
  const { promise: second, resolve } = Promise.withResolvers<LyceumResult>();
  const first = lyceum(job.words("twice"), {
    folder,
    onOutput: (text, child) => {
      if (text !== "") return;
      const timer = setInterval(() => {
        if (!existsSync(writes)) return;
        clearInterval(timer);
        // It must not end before the second one has checked.
        child.kill("SIGSTOP");
        const other = lyceum([...job.words("twice"), ...job.goOn], { folder });
        void other.then((result) => {
          child.kill("SIGCONT");
          resolve(result);
        });
      }, 1);
      child.once("exit", () => clearInterval(timer));
    },
  });
  expect(await first).toMatchObject({ code: 0, stderr: "" });
  const refused = await second;
  expectTyped(refused);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("is being written by process") });
  expect(await job.result("twice")).toEqual(await job.result("straight"));
  await expectTidy(folder, "twice");
}
