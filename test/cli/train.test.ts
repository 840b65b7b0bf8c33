import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readMetrics, runRecord } from "../../src/report/index.ts";

const main = join(import.meta.dirname, "../../src/cli/main.ts");
let folder: string;
let config: string;
let children: ChildProcess[];

beforeEach(async () => {
  children = [];
  folder = await mkdtemp(join(tmpdir(), "lyceum-cli-"));
  config = join(folder, "tiny.yaml");
  await writeFile(
    config,
    `seed: 1
environment: { id: math, tasks: arithmetic, difficulty: 1, answerOnly: true }
model:
  scratch: { hiddenSize: 16, layers: 1, heads: 2, maxLength: 128 }
  device: cpu
  threads: 1
algorithm: { id: sft }
sampling: { maxTokens: 8 }
training: { steps: 3, batchSize: 4, learningRate: 1e-3, sampleEvery: 1 }
evaluation: { split: "test[:4]" }
`,
  );
});

afterEach(async () => {
  for (const child of children) if (child.exitCode === null) child.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

/** Starts the command line in a process of its own; `onOutput` sees everything it has written so far. */
function lyceum(args: string[], onOutput?: (output: string, child: ChildProcess) => void) {
  // Started directly, whatever started the tests.
  const { npm_lifecycle_event: _, ...env } = process.env;
  const child = spawn(process.execPath, [main, ...args], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  const streams = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      streams[name] += text;
      onOutput?.(streams.stdout, child);
    });
  }
  return new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    child.on("close", (code) => resolve({ code, ...streams }));
  });
}

describe("lyceum train", () => {
  it("trains, shows plain lines, and leaves metrics, a report and a model", async () => {
    const { code, stdout, stderr } = await lyceum(["train", "--config", config, "--set", "training.steps=2"]);
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^run: sft on math, .* 2 steps, seed 1\n/);
    expect(stdout).toMatch(/\nstep 2\/2 .*loss \d/);
    expect(stdout).toMatch(/\nevaluation of test\[:4\] at step 2 {2}accuracy/);
    expect(stdout).not.toContain("\u001B");
    const output = join(folder, "runs", "tiny");
    expect(await readdir(output)).toEqual(
      expect.arrayContaining(["checkpoints", "metrics.jsonl", "model", "report.html"]),
    );
    const { header, events } = await readMetrics(join(output, "metrics.jsonl"));
    expect(header.config).toMatchObject({ seed: 1, training: { steps: 2 }, environment: { id: "math" } });
    expect(runRecord({ events }).steps).toHaveLength(2);
    expect(await readFile(join(output, "report.html"), "utf8")).toContain("sft on math");
  });

  it("saves at Ctrl-C, prints the command to go on, and that command ends the run", async () => {
    const output = join(folder, "out");
    let interrupted = false;
    const first = await lyceum(
      ["train", "--config", config, "--set", "training.steps=500", "--output", output],
      (text, child) => {
        if (!interrupted && /\nstep 2\//.test(text)) interrupted = child.kill("SIGINT");
      },
    );
    expect(first.code).toBe(130);
    expect(first.stdout).toContain("stopping: saving a checkpoint");
    expect(first.stderr).toMatch(/^Interrupted at step \d+\.\n {2}A checkpoint is saved in /);
    const command = /\n {2}(node .*)\n/.exec(first.stderr)![1]!;
    expect(command).toContain(`train --config ${config} --set training.steps=500 --output ${output} --resume`);
    const stopped = Number(/Interrupted at step (\d+)/.exec(first.stderr)![1]);

    interrupted = false;
    const second = await lyceum(command.split(" ").slice(2), (text, child) => {
      if (!interrupted && new RegExp(`\nstep ${stopped + 3}/500`).test(text)) interrupted = child.kill("SIGTERM");
    });
    expect(second.code).toBe(130);
    expect(second.stdout).toContain(`resumed from step ${stopped}`);
    const record = runRecord(await readMetrics(join(output, "metrics.jsonl")));
    expect(record.steps.map(({ step }) => step)).toEqual(record.steps.map((_, index) => index + 1));
    expect(record.steps.length).toBeGreaterThanOrEqual(stopped + 3);
    expect(record.resumptions).toBe(1);
  });

  it("exits at once at the second Ctrl-C", async () => {
    let sent = 0;
    const { code } = await lyceum(["train", "-c", config, "-s", "training.steps=500"], (text, child) => {
      if (sent === 0 && /\nstep 1\//.test(text)) {
        sent = 1;
        child.kill("SIGINT");
        child.kill("SIGTERM");
      }
    });
    expect(code).toBe(130);
  });

  it.each([
    [["train", "-c", "nowhere.yaml"], "There is no config file nowhere.yaml"],
    [["train", "-c", "tiny.yaml", "-s", "training.stepz=3"], 'Did you mean "steps"?'],
    [["train", "-c", "tiny.yaml", "-s", "environment.id=maths"], 'Did you mean "math"?'],
  ])("refuses %j with exit code 2, no stack and nothing written", async (args, words) => {
    const { code, stdout, stderr } = await lyceum(args);
    expect(stderr).toContain(words);
    expect(stderr).toMatch(/^error: /);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(stdout).toBe("");
    expect(code).toBe(2);
    expect(await readdir(folder)).toEqual(["tiny.yaml"]);
  });

  it("shows a stack when debugging", async () => {
    expect((await lyceum(["--debug", "train", "-c", "nowhere.yaml"])).stderr).toMatch(/\n\s+at /);
  });

  it("refuses to resume what does not exist, and to start over an earlier run", async () => {
    const none = await lyceum(["train", "-c", "tiny.yaml", "--resume"]);
    expect(none.code).toBe(1);
    expect(none.stderr).toMatch(/^error: There is no complete checkpoint/);
    expect((await lyceum(["train", "-c", "tiny.yaml", "-s", "training.steps=1"])).code).toBe(0);
    const again = await lyceum(["train", "-c", "tiny.yaml", "-s", "training.steps=1"]);
    expect(again.code).toBe(1);
    expect(again.stderr).toContain("holds checkpoints of an earlier run");
    const other = await lyceum(["train", "-c", "tiny.yaml", "-s", "environment.difficulty=2", "--resume"]);
    expect(other.code).toBe(1);
    expect(other.stderr).toContain("environment.difficulty (was 1, is 2)");
  });

  it("goes on training when nobody reads its output any more", async () => {
    const { code } = await lyceum(["train", "-c", "tiny.yaml"], (_, child) => child.stdout?.destroy());
    expect(code).toBe(0);
    expect(await readdir(join(folder, "runs", "tiny"))).toContain("report.html");
  });
});
