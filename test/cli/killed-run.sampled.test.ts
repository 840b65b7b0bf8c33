import { appendFile, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readMetrics, runRecord, type TrainingEvent } from "../../reports/training/index.ts";
import { readTrace } from "../../src/core/trace/read-trace.ts";
import { newestCheckpoint } from "../../trainers/checkpoint/find-checkpoints.ts";
import { sampleOf } from "../tier.ts";
import { runInProcess } from "./run-in-process.ts";
import { folderContents, lyceum, tinyRunFolder } from "./run-lyceum.ts";

const settings = {
  "training.steps": "24",
  "training.sampleEvery": "7",
  "checkpoint.every": "10",
  "evaluation.every": "10",
  "rollout.trace": "true",
};
/** The entropy changes the weights in each step, although this model seldom gets a reward. */
const grpo = {
  "algorithm.id": "grpo",
  "algorithm.groupSize": "2",
  "algorithm.dropGroupsWithoutSignal": "false",
  "algorithm.entropyWeight": "0.1",
};

function trainWords(output: string, changes: Readonly<Record<string, string>>): string[] {
  const all = Object.entries({ ...settings, ...changes });
  return ["train", "-c", "tiny.yaml", "-o", output, ...all.flatMap(([key, value]) => ["-s", `${key}=${value}`])];
}

/** Starts a run that is killed after it has shown a step. */
async function killAfter(words: readonly string[], options: { folder: string; step: number }): Promise<void> {
  const { folder, step } = options;
  expect(await lyceum(words, { folder, lastWords: `\nstep ${step}/` })).toMatchObject({ signal: "SIGKILL" });
}

/**
 * Returns the events of a run without times. Sessions differ, and a kill can come between a checkpoint and its event.
 */
async function story(output: string): Promise<unknown[]> {
  const { events } = await readMetrics(join(output, "metrics.jsonl"));
  return events.filter(({ type }) => ["step", "sample", "evaluation", "warning"].includes(type)).map(withoutTimes);
}

function withoutTimes(event: TrainingEvent): unknown {
  const text = JSON.stringify(event, (key, value) =>
    /Ms$|-ms$|per-second$|^path$|^traceLength$/.test(key) ? undefined : value,
  );
  return JSON.parse(text);
}

async function episodes(output: string): Promise<unknown[]> {
  const all = await Array.fromAsync(readTrace(join(output, "trace.jsonl")));
  return all.map(({ durationMs: _, ...episode }) => episode);
}

describe("a run that is killed", () => {
  const algorithms: [name: string, changes: Readonly<Record<string, string>>][] = [
    ["GRPO", grpo],
    ["SFT", {}],
  ];
  it.each(
    sampleOf(algorithms, 2),
  )("and resumed leaves the metrics, trace, checkpoint and model of one that never was: %s", async (_, changes) => {
    const folder = await tinyRunFolder();
    const [straight, killed] = [join(folder, "straight"), join(folder, "killed")];
    expect((await runInProcess(trainWords(straight, changes), { folder })).code).toBe(0);
    await killAfter(trainWords(killed, changes), { folder, step: 13 });
    const { manifest } = (await newestCheckpoint(join(killed, "checkpoints")))!;
    expect(manifest.step).toBeGreaterThanOrEqual(10);
    // Files that a crash leaves incomplete.
    await appendFile(join(killed, "metrics.jsonl"), '{"type":"st');
    await appendFile(join(killed, "trace.jsonl"), '{"id":"');
    const resumed = await runInProcess([...trainWords(killed, changes), "--resume"], { folder });
    expect(resumed.stderr).toBe("");
    expect(resumed.stdout).toContain(`resumed from step ${manifest.step}\n`);
    expect(await story(killed)).toEqual(await story(straight));
    const [expected, found] = [await episodes(straight), await episodes(killed)];
    expect(expected.length).toBe(24 * 4 * (changes === grpo ? 2 : 1));
    expect(found).toEqual(expected);
    const files = await folderContents(killed);
    const models = Object.entries(await folderContents(straight)).filter(([name]) => /model\//.test(name));
    expect(models.length).toBeGreaterThan(5);
    for (const [name, hash] of models) expect(files[name], name).toBe(hash);
    expect(Object.keys(files).filter((name) => /partial|tmp/.test(name))).toEqual([]);
  });

  it("twice, the second time before another checkpoint, can be resumed", async () => {
    const folder = await tinyRunFolder();
    const [straight, killed] = [join(folder, "straight"), join(folder, "killed")];
    const changes = { "training.steps": "16" };
    expect((await runInProcess(trainWords(straight, changes), { folder })).code).toBe(0);
    await killAfter(trainWords(killed, changes), { folder, step: 11 });
    await killAfter([...trainWords(killed, changes), "--resume"], { folder, step: 12 });
    expect((await runInProcess([...trainWords(killed, changes), "--resume"], { folder })).code).toBe(0);
    expect(await story(killed)).toEqual(await story(straight));
    expect(await episodes(killed)).toEqual(await episodes(straight));
    expect(runRecord(await readMetrics(join(killed, "metrics.jsonl"))).resumptions).toBe(2);
  });

  it("before its first checkpoint is started again in the same folder", async () => {
    const folder = await tinyRunFolder();
    const [straight, killed] = [join(folder, "straight"), join(folder, "killed")];
    const changes = { "checkpoint.every": "500", "training.steps": "8" };
    expect((await runInProcess(trainWords(straight, changes), { folder })).code).toBe(0);
    await killAfter(trainWords(killed, changes), { folder, step: 3 });
    const resumed = await runInProcess([...trainWords(killed, changes), "--resume"], { folder });
    expect(resumed.stderr).toMatch(/^error\[checkpoint\.unusable\]: There is no complete checkpoint/);
    expect((await runInProcess(trainWords(killed, changes), { folder })).code).toBe(0);
    expect(await story(killed)).toEqual(await story(straight));
    expect(await episodes(killed)).toEqual(await episodes(straight));
  });
});

describe("lyceum report", () => {
  it("creates the report of a killed run, and of a running one", async () => {
    const folder = await tinyRunFolder();
    const output = join(folder, "out");
    let whileRunning: ReturnType<typeof lyceum> | undefined;
    const { code } = await lyceum(trainWords("out", { "training.steps": "100000" }), {
      folder,
      onOutput: (text, child) => {
        if (whileRunning !== undefined || !text.includes("\nstep 9/")) return;
        whileRunning = lyceum(["report", "out"], { folder });
        void whileRunning.then(() => child.kill("SIGKILL"));
      },
    });
    expect(code).toBeNull();
    expect(await whileRunning).toMatchObject({ code: 0, stdout: "report: out/report.html\n", stderr: "" });
    const running = await readFile(join(output, "report.html"), "utf8");
    expect(running).toContain('"status":"running"');
    expect(running).toContain("sft on math");

    await appendFile(join(output, "metrics.jsonl"), '{"type":"st');
    const before = await folderContents(output);
    const killed = await runInProcess(["report", "out/"], { folder });
    expect(killed).toMatchObject({ code: 0, stdout: "report: out/report.html\n", stderr: "" });
    const { steps } = runRecord(await readMetrics(join(output, "metrics.jsonl")));
    expect(await readFile(join(output, "report.html"), "utf8")).toContain(steps.at(-1)!.step.toLocaleString("en-US"));
    const { "report.html": drawn, ...others } = await folderContents(output);
    expect({ ...others, "report.html": before["report.html"] }).toEqual(before);
    expect(drawn).not.toBe(before["report.html"]);
  });

  it("says what to do if there is no run", async () => {
    const folder = await tinyRunFolder();
    const { code, stdout, stderr } = await runInProcess(["report", "nowhere"], { folder });
    expect(stderr).toMatch(/^error\[data\.not-found\]: There is no file nowhere\/metrics\.jsonl/);
    expect(stderr).toContain("\n  Use the output folder of a run.");
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(await readdir(folder)).toEqual(["tiny.yaml"]);
  });
});
