import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { recordRun } from "../../reports/training/record-run.ts";
import { folderSource } from "../../reports/viewer/folder-source.ts";
import { compareRuns } from "../../src/evaluation/compare.ts";
import { readEntries, readManifest, readSummary } from "../../src/evaluation/log/read-log.ts";
import { train } from "../../trainers/training/train.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { createBigramBackend } from "./bigram-backend.ts";
import { letterEnvironment } from "./letter-environment.ts";
import { eventsOf, letterConfig, runEnd, runTraining } from "./run-training.ts";

const config = letterConfig({
  checkpoint: { every: 2 },
  evaluation: { split: "test[:4]", every: 2, episodesPerTask: 2 },
  probe: { groups: 0 },
  training: { steps: 4 },
});
const steps = ["step-000000", "step-000002", "step-000004"];

/** The result of an evaluation: its summary without times, and the reward of each episode. */
async function results(folder: string): Promise<unknown> {
  const { time: _, ...summary } = await readSummary(folder);
  const entries = [...(await readEntries(folder)).values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  return { summary, entries: entries.map(({ id, correct, agents }) => [id, correct, agents.agent?.reward]) };
}

it("a training stores each evaluation as lyceum eval does, with the accuracy that its metrics have", async () => {
  const output = temporaryFolder();
  const evaluations = join(output, "evaluations");
  const record = await runTraining({ output, config });
  expect(record.error).toBeUndefined();
  expect(await readdir(evaluations)).toEqual(steps);
  const events = eventsOf(record, "evaluation");
  const accuracies = await Promise.all(
    steps.map(async (step) => (await readSummary(join(evaluations, step))).metrics.accuracy?.value),
  );
  expect(events.map(({ metrics }) => metrics.accuracy)).toEqual(accuracies);
  expect(accuracies.at(-1)).toBeGreaterThan(accuracies[0]!);
  const last = join(evaluations, steps.at(-1)!);
  expect(await readManifest(last)).toMatchObject({
    tasks: 4,
    samples: 2,
    identity: { environment: { name: "letters" }, split: "test[:4]", sampling: { temperature: 0, maxTokens: 1 } },
  });
  expect((await readEntries(last)).size).toBe(8);
  const { metrics, differences } = await compareRuns(join(evaluations, steps[0]!), last);
  expect(metrics.reward?.difference).toBeCloseTo(accuracies.at(-1)! - accuracies[0]!, 12);
  expect(differences).toEqual([]);
});

it("a run that was stopped in an evaluation repeats it, and gives the same evaluations as one without a stop", async () => {
  const straight = temporaryFolder();
  await runTraining({ output: straight, config });
  const output = temporaryFolder();
  const controller = new AbortController();
  let judged: number | undefined;
  const stopped = await runTraining({
    output,
    config,
    signal: controller.signal,
    environment: letterEnvironment({
      judge: (right) => {
        if (judged !== undefined && ++judged === 3) controller.abort();
        return Number(right);
      },
    }),
    onEvent: (event) => {
      if (event.type === "step" && event.step === 2) judged = 0;
    },
  });
  expect(runEnd(stopped)).toMatchObject({ reason: "aborted", step: 2 });
  const halfWritten = join(output, "evaluations", "step-000002");
  expect((await readSummary(halfWritten)).status).toBe("interrupted");
  // A kill leaves a manifest and a lock, perhaps of steps that the resumed run has not reached yet.
  const later = join(output, "evaluations", "step-000003");
  for (const folder of [halfWritten, later]) {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "evaluation.json"), '{"format":"lyceum-eval');
    await writeFile(join(folder, "run.lock"), "{}");
  }
  expect((await runTraining({ output, config, resume: true })).error).toBeUndefined();
  expect(await readdir(join(output, "evaluations"))).toEqual(steps);
  for (const step of steps) {
    const [one, other] = [output, straight].map((run) => join(run, "evaluations", step));
    expect(await results(one!)).toEqual(await results(other!));
  }
});

it("a new run in the folder of one without a checkpoint removes the evaluations of that run", async () => {
  const output = temporaryFolder();
  const old = join(output, "evaluations", "step-000040");
  const own = join(output, "evaluations", "notes.txt");
  await mkdir(old, { recursive: true });
  await writeFile(own, "mine");
  await runTraining({ output, config });
  expect(await readdir(join(output, "evaluations"))).toEqual(["notes.txt", ...steps]);
  expect(await readFile(own, "utf8")).toBe("mine");
});

it("the viewer lists a training without its evaluations, and the training's page opens their episodes", async () => {
  const root = temporaryFolder();
  const output = join(root, "letters");
  const events = train({ environment: letterEnvironment(), backend: createBigramBackend(), output, config });
  await Array.fromAsync(recordRun(events, { folder: output, config: JSON.parse(JSON.stringify(config)) }));
  const source = folderSource(root);
  expect((await source.runs()).runs.map(({ path, kind }) => [path, kind])).toEqual([["letters", "training"]]);
  const view = await source.run("letters");
  if (view.kind !== "training") throw new Error("not a training");
  const paths = view.evaluations.map(({ path }) => path!);
  expect(paths).toEqual(steps.map((step) => `letters/evaluations/${step}`));
  expect(await source.run(paths[1]!)).toMatchObject({ kind: "evaluation", status: "completed", training: "letters" });
  const { rows } = await source.episodes(paths[1]!, { filter: {}, offset: 0, limit: 10 });
  expect(rows).toHaveLength(8);
  const { episode, tokenTexts } = await source.episode(paths[1]!, { id: rows[0]!.id, filter: {} });
  const [answer] = episode.agents.agent!.nodes.filter(({ tokens }) => tokens?.mask === 1);
  // The model is from scratch, so the training's byte tokenizer reads its tokens.
  expect(tokenTexts.agent?.[answer!.id]).toHaveLength(answer!.tokens!.ids.length);
  expect(await folderSource(output).run(".")).toMatchObject({
    evaluations: [{ path: `evaluations/${steps[0]}` }, {}, {}],
  });
});
