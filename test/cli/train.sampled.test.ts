import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { readMetrics, runRecord } from "../../reports/training/index.ts";
import { isSlowTier } from "../tier.ts";
import { runInProcess } from "./run-in-process.ts";
import { type LyceumResult, lyceum as run, tinyRunFolder } from "./run-lyceum.ts";

const config = "tiny.yaml";
let folder: string;
beforeEach(async () => {
  folder = await tinyRunFolder();
});

const lyceum = (args: string[], onOutput?: Parameters<typeof run>[1]["onOutput"]): Promise<LyceumResult> =>
  run(args, { folder, ...(onOutput === undefined ? {} : { onOutput }) });

describe("lyceum train", () => {
  it("trains, shows plain lines, and leaves metrics, a report and a model", async () => {
    const { code, stdout, stderr } = await lyceum(["train", "--config", config, "--set", "training.steps=2"]);
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^run: sft on math, .* 2 steps, seed 1\n/);
    expect(stdout).toMatch(/\nstep 2\/2 .*loss \d/);
    expect(stdout).toMatch(/\nevaluation of test\[:4\] at step 2 {2}reward \S+ {2}accuracy/);
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

  it("saves at Ctrl-C and prints the command to resume, which completes the run", async () => {
    const output = join(folder, "out");
    let interrupted = false;
    const first = await lyceum(
      ["train", "--config", config, "--set", "training.steps=5000", "--output", output],
      (text, child) => {
        if (!interrupted && /\nstep 2\//.test(text)) interrupted = child.kill("SIGINT");
      },
    );
    expect(first.code).toBe(130);
    expect(first.stdout).toContain("stopping: saving a checkpoint");
    expect(first.stderr).toMatch(/^Interrupted at step \d+\.\n {2}A checkpoint is saved in /);
    const command = /\n {2}(node .*)\n/.exec(first.stderr)![1]!;
    expect(command).toContain(`train --config ${config} --set training.steps=5000 --output ${output} --resume`);
    const stopped = Number(/Interrupted at step (\d+)/.exec(first.stderr)![1]);

    interrupted = false;
    const second = await lyceum(command.split(" ").slice(2), (text, child) => {
      if (!interrupted && new RegExp(`\nstep ${stopped + 3}/5000`).test(text)) interrupted = child.kill("SIGTERM");
    });
    expect(second.code).toBe(130);
    expect(second.stdout).toContain(`resumed from step ${stopped}`);
    const record = runRecord(await readMetrics(join(output, "metrics.jsonl")));
    expect(record.steps.map(({ step }) => step)).toEqual(record.steps.map((_, index) => index + 1));
    expect(record.steps.length).toBeGreaterThanOrEqual(stopped + 3);
    expect(record.resumptions).toBe(1);
  });

  it("ends immediately at the second Ctrl-C, whether the model is running or not", async () => {
    const runs = await Promise.all(
      Array.from({ length: isSlowTier ? 8 : 2 }, (_, run) => {
        let sent = false;
        const words = ["-c", config, "-s", "training.steps=5000", "-s", "checkpoint.every=0", "-o", `out-${run}`];
        return lyceum(["train", ...words], (text, child) => {
          if (sent || !/\nstep 1\//.test(text)) return;
          sent = true;
          // A stopped process finds both signals together, so nothing is saved between them.
          for (const signal of ["SIGSTOP", "SIGINT", "SIGTERM", "SIGCONT"] as const) child.kill(signal);
        });
      }),
    );
    for (const { code, signal, stdout, stderr } of runs) {
      expect({ code, signal, stderr }).toEqual({ code: null, signal: "SIGINT", stderr: "" });
      expect(stdout).not.toContain("checkpoint at step");
    }
  });

  it.each([
    [["train", "-c", "nowhere.yaml"], "There is no config file nowhere.yaml"],
    [["train", "-c", "tiny.yaml", "-s", "training.stepz=3"], 'Did you mean "steps"?'],
    [["train", "-c", "tiny.yaml", "-s", "environment.id=maths"], 'Did you mean "math"?'],
  ])("refuses %j with exit code 2, no stack and nothing written", async (args, words) => {
    const { code, stdout, stderr } = await runInProcess(args, { folder });
    expect(stderr).toContain(words);
    expect(stderr).toMatch(/^error\[(config|data)\.[a-z-]+\]: /);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(stdout).toBe("");
    expect(code).toBe(2);
    expect(await readdir(folder)).toEqual(["tiny.yaml"]);
  });

  it("shows a stack when debugging", async () => {
    expect((await runInProcess(["--debug", "train", "-c", "nowhere.yaml"], { folder })).stderr).toMatch(/\n\s+at /);
  });

  it("refuses to resume what does not exist, and to start over an earlier run", async () => {
    const none = await runInProcess(["train", "-c", "tiny.yaml", "--resume"], { folder });
    expect(none.code).toBe(1);
    expect(none.stderr).toMatch(/^error\[checkpoint\.unusable\]: There is no complete checkpoint/);
    expect((await runInProcess(["train", "-c", "tiny.yaml", "-s", "training.steps=1"], { folder })).code).toBe(0);
    const again = await runInProcess(["train", "-c", "tiny.yaml", "-s", "training.steps=1"], { folder });
    expect(again.code).toBe(1);
    expect(again.stderr).toContain("has checkpoints of an earlier run");
    const other = await runInProcess(["train", "-c", "tiny.yaml", "-s", "environment.difficulty=1", "--resume"], {
      folder,
    });
    expect(other.code).toBe(1);
    expect(other.stderr).toContain("environment.difficulty (was 2, is 1)");
  });

  it("continues training after its output is closed", async () => {
    const { code } = await lyceum(["train", "-c", "tiny.yaml"], (_, child) => child.stdout?.destroy());
    expect(code).toBe(0);
    expect(await readdir(join(folder, "runs", "tiny"))).toContain("report.html");
  });
});
