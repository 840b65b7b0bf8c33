import { cp, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readMetrics } from "../../reports/training/index.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { safetensorsBytes } from "../weights/weights-folder.ts";
import { runInProcess } from "./run-in-process.ts";
import { folderContents, type LyceumResult, lyceum, tinyConfig, tinyRunFolder } from "./run-lyceum.ts";
import { fillDisk, mountDisk } from "./small-disk.ts";

let folder: string;
beforeEach(async () => {
  folder = await tinyRunFolder();
});

type Result = Pick<LyceumResult, "code" | "stdout" | "stderr">;

/**
 * Runs `lyceum train` on the tiny config with some keys changed. If its output is watched, it runs in its own process.
 */
function train(
  changes: Readonly<Record<string, string | number | boolean>> = {},
  options: {
    config?: string;
    output?: string;
    resume?: boolean;
    onOutput?: Parameters<typeof lyceum>[1]["onOutput"];
  } = {},
): Promise<Result> {
  const { config = "tiny.yaml", output = "out", resume = false, onOutput } = options;
  const set = Object.entries(changes).flatMap(([key, value]) => ["-s", `${key}=${value}`]);
  const words = ["train", "-c", config, "-o", output, ...set, ...(resume ? ["--resume"] : [])];
  return onOutput === undefined ? runInProcess(words, { folder }) : lyceum(words, { folder, onOutput });
}

/** Expects an error in the right form: its code, what happened, what to do on a separate line, no stack. */
function expectError({ stderr, code }: Result, expected: { code: string; exit: number; words: string }): void {
  const [first, hint] = stderr.split("\n");
  expect(first).toMatch(new RegExp(`^error\\[${expected.code.replaceAll(".", "\\.")}\\]: \\S`));
  expect(first).toContain(expected.words);
  expect(hint).toMatch(/^ {2}\S+ \S+/);
  expect(stderr).not.toMatch(/\n\s+at /);
  expect(code).toBe(expected.exit);
}

const temporaryNames = (names: readonly string[]): string[] => names.filter((name) => /partial|tmp|temp/i.test(name));

describe("an invalid config", () => {
  it.each([
    [
      "an unknown key",
      "batchSize",
      "batchsize",
      /^9:\d+: unknown key "batchsize" in training\n {2}Did you mean "batchSize"\?/,
    ],
    ["a wrong type", "steps: 3", "steps: three", /^9:\d+: training\.steps: expected a number, got "three"\n/],
    ["broken YAML", "{ id: sft }", "{ id: sft", /^8:1: .*end with a }/],
    ["an unknown environment", "id: math", "id: maths", /^2:\d+: .*"maths"\n {2}Did you mean "math"\?/],
  ])("%s is reported with its place and the expected value, and nothing is written", async (_, text, spoiled, words) => {
    const path = join(folder, "tiny.yaml");
    await writeFile(path, (await readFile(path, "utf8")).replace(text, spoiled));
    const before = await folderContents(folder);
    const { code, stdout, stderr } = await train();
    const prefix = "error[config.invalid]: tiny.yaml:";
    expect(stderr.slice(0, prefix.length)).toBe(prefix);
    expect(stderr.slice(prefix.length)).toMatch(words);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(await folderContents(folder)).toEqual(before);
  });
});

describe("a model that cannot be used", () => {
  const weights = join("model", "model.safetensors");
  const changeJson = async (file: string, change: object): Promise<void> => {
    const path = join(folder, "model", file);
    await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, "utf8")), ...change }));
  };
  const bad: Record<string, readonly [spoil: () => Promise<unknown>, code: string, words: string]> = {
    "no folder": [() => rm(join(folder, "model"), { recursive: true }), "model.missing", "There is no folder model"],
    "no weights": [() => rm(join(folder, weights)), "model.missing", "lacks model.safetensors"],
    "weights cut within the header": [() => truncate(join(folder, weights), 100), "model.malformed", weights],
    "weights whose header is no JSON": [
      () => writeFile(join(folder, weights), safetensorsBytes("{nonsense")),
      "model.malformed",
      weights,
    ],
    "a tokenizer without a chat template": [
      () => changeJson("tokenizer_config.json", { chat_template: undefined }),
      "model.template",
      "no chat template",
    ],
    "an unknown architecture": [() => changeJson("config.json", { model_type: "mamba" }), "model.unsupported", "mamba"],
  };

  let kept: string;
  beforeAll(async () => {
    kept = temporaryFolder();
    await writeFile(join(kept, "tiny.yaml"), tinyConfig);
    const words = ["train", "-c", "tiny.yaml", "-o", "first", "-s", "training.steps=1"];
    expect((await runInProcess(words, { folder: kept })).code).toBe(0);
  });

  beforeEach(async () => {
    await cp(join(kept, "first", "model"), join(folder, "model"), { recursive: true });
    // The model is one of another program, without checksums.
    await rm(join(folder, "model/lyceum_checksums.json"));
    const text = await readFile(join(folder, "tiny.yaml"), "utf8");
    await writeFile(join(folder, "model.yaml"), text.replace(/scratch: .*/, "path: model"));
  });

  it.each(Object.keys(bad))("%s is an error, and nothing is written", async (name) => {
    const [spoil, code, words] = bad[name]!;
    await spoil();
    const before = await folderContents(folder);
    const result = await train({ "rollout.trace": true }, { config: "model.yaml" });
    expectError(result, { code, exit: 1, words });
    expect(result.stdout).toBe("");
    expect(await folderContents(folder)).toEqual(before);
  });

  it("does not touch the checkpoints of a resumed run, which resumes after the model is back", async () => {
    const options = { config: "model.yaml" };
    expect((await train({ "rollout.trace": true }, options)).code).toBe(0);
    const file = await readFile(join(folder, weights));
    await truncate(join(folder, weights), 100);
    const before = await folderContents(folder);
    const longer = { "rollout.trace": true, "training.steps": 5 };
    expectError(await train(longer, { ...options, resume: true }), {
      code: "model.malformed",
      exit: 1,
      words: weights,
    });
    expect(await folderContents(folder)).toEqual(before);
    await writeFile(join(folder, weights), file);
    const { stdout, code } = await train(longer, { ...options, resume: true });
    expect(code).toBe(0);
    expect(stdout).toContain("resumed from step 3");
  });

  it("infinite weights are reported at the first step, and are not trained on", async () => {
    const bytes = await readFile(join(folder, weights));
    bytes.writeFloatLE(Number.POSITIVE_INFINITY, bytes.length - 4);
    await writeFile(join(folder, weights), bytes);
    const before = await folderContents(folder);
    const result = await train({}, { config: "model.yaml" });
    expectError(result, { code: "backend.not-finite", exit: 1, words: "Step 1: " });
    expect(result.stderr).toContain("No checkpoint was written");
    const after = await folderContents(folder);
    const written = Object.keys(after).filter((name) => !(name in before) && !name.startsWith("out/evaluations/"));
    expect(written).toEqual(["out/config.yaml", "out/metrics.jsonl", "out/report.html"]);
  });
});

describe("a loss that is not finite", () => {
  it("ends the run at its step; the previous checkpoint is unchanged", async () => {
    const diverging = { "training.learningRate": 1e30, "training.clipNorm": 1e30, "checkpoint.every": 1 };
    const result = await train({ ...diverging, "training.steps": 20 });
    expectError(result, { code: "backend.not-finite", exit: 1, words: "Step 2: " });
    expect(result.stderr).toContain("out/checkpoints/step-000001 is from before the error");
    expect(result.stderr).toContain("training.learningRate");
    expect(result.stdout).toMatch(/\nfailed at step 1 .*: Step 2: /);
    const { events } = await readMetrics(join(folder, "out", "metrics.jsonl"));
    expect(events.at(-1)).toMatchObject({ type: "run-end", reason: "failed", error: { code: "backend.not-finite" } });
    expect(await readFile(join(folder, "out", "report.html"), "utf8")).toContain('"reason":"failed"');
    const before = await folderContents(join(folder, "out"));
    expect(await readdir(join(folder, "out", "checkpoints"))).toEqual(["step-000001"]);
    expect(temporaryNames(Object.keys(before))).toEqual([]);

    // It ends in the same way from its checkpoint, which is complete.
    const again = await train({ ...diverging, "training.steps": 20 }, { resume: true });
    expectError(again, { code: "backend.not-finite", exit: 1, words: "Step 2: " });
    const after = await folderContents(join(folder, "out"));
    for (const [name, hash] of Object.entries(before)) {
      if (name.startsWith("checkpoints")) expect(after[name], name).toBe(hash);
    }
    const gentler = await train({ "checkpoint.every": 1 }, { resume: true });
    expectError(gentler, {
      code: "checkpoint.unusable",
      exit: 1,
      words: "training.learningRate (was 1e+30, is 0.001)",
    });
  });
});

describe("a full disk", () => {
  const changes = { "checkpoint.every": 1, "checkpoint.keep": 20, "training.steps": 8, "rollout.trace": true };

  /** The disk usage of the files in a folder, in whole pages. */
  async function folderSize(path: string): Promise<number> {
    const entries = await readdir(path, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    const sizes = await Promise.all(
      files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size),
    );
    return sizes.reduce((sum, size) => sum + Math.ceil(size / 4096) * 4096, 0);
  }

  const checkpointFiles = async (output: string): Promise<Record<string, string>> =>
    folderContents(join(folder, output, "checkpoints"));

  it("during a checkpoint ends the run; earlier checkpoints are intact, and the run resumes when there is space", async (context) => {
    const disk = await mountDisk(folder, context);
    expect((await train(changes, { output: "straight" })).code).toBe(0);
    const size = await folderSize(join(folder, "straight", "checkpoints", "step-000001"));
    await fillDisk(disk, 3.5 * size);
    const result = await train(changes, { output: "disk/out" });
    expectError(result, { code: "checkpoint.write-failed", exit: 1, words: "the disk is full" });
    const names = await readdir(join(disk, "out", "checkpoints"));
    expect(names.length).toBeGreaterThan(0);
    expect(names.length).toBeLessThan(8);
    expect(result.stderr).toContain(`disk/out/checkpoints/${names.at(-1)} is intact. Free some space`);
    expect(result.stderr).not.toMatch(/partial|\.\./);
    const [whole, expected] = [await checkpointFiles("disk/out"), await checkpointFiles("straight")];
    for (const [name, hash] of Object.entries(whole)) {
      // The manifest contains the times of steps.
      if (name.includes("model/")) expect(hash, name).toBe(expected[name]);
      else expect(name).toMatch(/^step-\d{6}\/manifest\.json$/);
    }
    expect(temporaryNames(Object.keys(await folderContents(disk)))).toEqual([]);

    expectError(await train(changes, { output: "disk/out", resume: true }), {
      code: "checkpoint.write-failed",
      exit: 1,
      words: "the disk is full",
    });
    for (const [name, hash] of Object.entries(whole)) expect((await checkpointFiles("disk/out"))[name]).toBe(hash);

    await rm(join(disk, "filler"));
    const resumed = await train(changes, { output: "disk/out", resume: true });
    expect(resumed.stderr).toBe("");
    expect(resumed.code).toBe(0);
    const [last, straight] = [await folderContents(join(disk, "out")), await folderContents(join(folder, "straight"))];
    for (const name of Object.keys(straight).filter((file) => file.includes("model/"))) {
      expect(last[name], name).toBe(straight[name]);
    }
  });

  it("without any space is reported: a warning for the metrics, an error for the checkpoint", async (context) => {
    const disk = await mountDisk(folder, context);
    const text = await readFile(join(folder, "tiny.yaml"), "utf8");
    await writeFile(join(folder, "unevaluated.yaml"), text.replace(/^evaluation: .*\n/m, ""));
    // One page for the metrics, next to those of the config and of the two locks.
    await fillDisk(disk, 16384);
    const options = { config: "unevaluated.yaml", output: "disk/out" };
    const result = await train({ ...changes, "rollout.trace": false, "checkpoint.every": 6 }, options);
    expectError(result, { code: "checkpoint.write-failed", exit: 1, words: "the disk is full" });
    expect(result.stderr).toContain("There is no earlier checkpoint. Free some space");
    expect(result.stdout.match(/metrics\.jsonl cannot be written. Training goes on without it/g)).toHaveLength(1);
    expect(result.stdout).toContain("\nstep 6/8");
    const left = await folderContents(join(disk, "out"));
    expect(Object.keys(left)).toEqual(expect.arrayContaining(["checkpoints/", "metrics.jsonl"]));
    expect(temporaryNames(Object.keys(left))).toEqual([]);
    const { skippedLines, events } = await readMetrics(join(disk, "out", "metrics.jsonl"));
    expect(skippedLines).toBe(0);
    expect(events.length).toBeGreaterThan(1);

    const evaluated = await train(changes, { output: "disk/evaluated" });
    expectError(evaluated, { code: "trace.write-failed", exit: 1, words: "the disk is full" });

    await rm(join(disk, "out", "report.html"), { force: true });
    await rm(join(disk, "filler"));
    await fillDisk(disk, 0);
    const report = await runInProcess(["report", "disk/out"], { folder });
    expectError(report, { code: "report.write-failed", exit: 1, words: "report.html" });
    expect(temporaryNames(await readdir(join(disk, "out")))).toEqual([]);
    await rm(join(disk, "filler"));
    expect((await train(changes, { output: "disk/out" })).code).toBe(0);
  });

  it("at Ctrl-C says that no checkpoint was saved, and where the last one is", async (context) => {
    const disk = await mountDisk(folder, context);
    expect((await train({ ...changes, "training.steps": 2 }, { output: "disk/out" })).code).toBe(0);
    const before = await checkpointFiles("disk/out");
    await fillDisk(disk, 64 * 1024);
    const longer = { ...changes, "training.steps": 5000, "checkpoint.every": 5000, "rollout.trace": false };
    let sent = false;
    const result = await train(longer, {
      output: "disk/out",
      resume: true,
      onOutput: (text, child) => {
        if (!sent && text.includes("\nstep 4/")) sent = child.kill("SIGINT");
      },
    });
    expectError(result, { code: "checkpoint.write-failed", exit: 1, words: "the disk is full" });
    expect(result.stderr).toContain("step-000002 is intact");
    expect(await checkpointFiles("disk/out")).toEqual(before);
    expect(temporaryNames(Object.keys(await folderContents(disk)))).toEqual([]);
  });

  it("under the trace ends the run with what was written before", async (context) => {
    const disk = await mountDisk(folder, context);
    expect((await train({ ...changes, "training.steps": 2 }, { output: "disk/out" })).code).toBe(0);
    const trace = join(disk, "out", "trace.jsonl");
    const before = await readFile(trace, "utf8");
    await fillDisk(disk, 0);
    const longer = { ...changes, "training.steps": 5000, "checkpoint.every": 5000 };
    const result = await train(longer, { output: "disk/out", resume: true });
    expectError(result, { code: "trace.write-failed", exit: 1, words: "the disk is full" });
    const after = await readFile(trace, "utf8");
    expect(after.startsWith(before)).toBe(true);
    expect(after.endsWith("\n")).toBe(true);
  });
});
