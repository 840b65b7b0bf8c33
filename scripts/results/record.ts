import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { parse } from "yaml";
import { softwareVersions } from "../../cli/software-versions.ts";
import { metricsFileName, readMetrics } from "../../reports/training/metrics-file.ts";
import { type RunRecord, runRecord } from "../../reports/training/run-record.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { Machine } from "../../src/contract/training-event.ts";
import { evaluationsFolder, stepFolder } from "../../src/core/files/step-folder.ts";
import { evaluatedAgents } from "../../src/evaluation/evaluated-agents.ts";
import { readEntries, readManifest, readTaskLines } from "../../src/evaluation/log/read-log.ts";
import { episodeReward, mean, taskResults } from "../../src/evaluation/metrics/task-results.ts";

/** What a score of a held-out task is: the share of correct episodes, or the mean reward. */
export type Score = "accuracy" | "reward";

/** What the page of results keeps of one run. It has no paths, and the same run always gives the same record. */
export interface ResultRecord {
  readonly row: string;
  readonly seed: number;
  /** True if every reward was a coin. */
  readonly control: boolean;
  /** The SHA-256 of the config file's content, as {@link configHash} returns it. */
  readonly config: string;
  /** The SHA-256 of the weights that the run started from, if `--model` named them. */
  readonly weights?: string;
  readonly startedAt: string;
  readonly hardware: string;
  /** What a reader of its numbers must know, such as other work on the machine. */
  readonly note?: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly stages: readonly RecordedStage[];
}

/** One stage of a run. A run without stages has one. */
export interface RecordedStage {
  readonly algorithm: string;
  /** The number of finished steps, and of planned ones. */
  readonly steps: number;
  readonly of: number;
  readonly seconds: number;
  readonly evaluations: readonly RecordedEvaluation[];
  /** What the probe found and said. Absent if the stage has no probe or no second step. */
  readonly probe?: RecordedProbe;
}

/** A probe, and what happened after it. */
export interface RecordedProbe {
  /** The number of groups. */
  readonly groups: number;
  /** The number of groups with a signal. */
  readonly withSignal: number;
  readonly advice: readonly string[];
  /** The mean share of groups with a signal in steps 2 to 11, or to the last one. The probe has played step 1. */
  readonly later: number;
}

/** The scores of the held-out tasks, in order, after a step. Null for a task without a scored episode. */
export interface RecordedEvaluation {
  readonly step: number;
  readonly scores: readonly (number | null)[];
  /** The mean share of correct episodes, if the score is the reward and the environment says which ones are correct. */
  readonly solved?: number;
}

/** Returns the SHA-256 of a config's content. Comments and spacing do not change it. */
export function configHash(text: string): string {
  return sha256(JSON.stringify(parse(text)));
}

/** Returns the name of the file of a record. */
export function recordName({ row, seed, control }: Pick<ResultRecord, "row" | "seed" | "control">): string {
  return `${row}${control ? "-random" : ""}-${seed}.json`;
}

/**
 * Reads the run in `folder`, finished or interrupted in its last stage. `config` is the text of its config file, and
 * `model` the folder or the GGUF file of its weights. Throws `data.not-found` for a stage that has not begun.
 */
export async function readRecord(options: {
  readonly row: string;
  readonly seed: number;
  readonly control: boolean;
  readonly score: Score;
  readonly folder: string;
  readonly config: string;
  readonly model?: string | undefined;
  readonly note?: string | undefined;
}): Promise<ResultRecord> {
  const { row, seed, control, score, folder, config, model, note } = options;
  const { stages: named } = parse(config) as { readonly stages?: readonly { readonly name: string }[] };
  const folders = named?.map(({ name }) => join(folder, name)) ?? [folder];
  const stages = await Promise.all(folders.map((stage) => readStage(stage, score)));
  // The run has recorded what computed it. This installation may have other libraries.
  const { "onnxruntime-node": _, ...versions } = softwareVersions();
  const { machine } = stages.at(-1)!;
  return {
    row,
    seed,
    control,
    config: configHash(config),
    ...(model === undefined ? {} : { weights: await weightsHash(model) }),
    startedAt: stages[0]!.startedAt,
    hardware: machine?.hardware ?? "unknown hardware",
    ...(note === undefined ? {} : { note }),
    versions: { ...versions, ...machine?.versions },
    stages: stages.map(({ stage }) => stage),
  };
}

async function readStage(
  folder: string,
  score: Score,
): Promise<{ readonly startedAt: string; readonly machine: Machine | undefined; readonly stage: RecordedStage }> {
  const run = runRecord(await readMetrics(join(folder, metricsFileName)));
  // The first one is before the first step.
  if (run.evaluations.length < 2) {
    throw new LyceumError({
      code: "data.not-found",
      message: `The run in ${folder} has no evaluation after its first step yet.`,
      hint: "Continue it with --resume, and record it afterwards.",
    });
  }
  const evaluations: RecordedEvaluation[] = [];
  for (const { step } of run.evaluations) {
    evaluations.push({ step, ...(await readScores(join(folder, evaluationsFolder, stepFolder(step)), score)) });
  }
  const stage = {
    algorithm: run.start!.algorithm,
    steps: run.steps.length,
    of: run.start!.steps,
    seconds: Math.round(run.elapsedMs / 1000),
    evaluations,
    ...recordedProbe(run),
  };
  return { startedAt: run.startedAt!, machine: run.start!.machine, stage };
}

function recordedProbe({ probe, steps }: RunRecord): { readonly probe?: RecordedProbe } {
  const shares = steps.slice(1, 11).flatMap(({ metrics }) => metrics["groups/without-signal"] ?? []);
  if (probe === undefined || shares.length === 0) return {};
  const { groups, withSignal, advice } = probe;
  return { probe: { groups, withSignal, advice, later: rounded(1 - mean(shares)!) } };
}

/** Reads the score of each task of an evaluation. In a match, only the rewards of the trained model count. */
async function readScores(folder: string, score: Score): Promise<Omit<RecordedEvaluation, "step">> {
  const manifest = await readManifest(folder);
  const tasks = await Array.fromAsync(readTaskLines(folder));
  const results = taskResults(tasks, { samples: manifest.samples, entries: await readEntries(folder) });
  const evaluated = evaluatedAgents(manifest);
  const accuracies = results.map(({ scored, correct }) => (scored.length === 0 ? null : correct / scored.length));
  if (score === "accuracy")
    return { scores: accuracies.map((accuracy) => (accuracy === null ? null : rounded(accuracy))) };
  const scores = results.map(({ scored }) => {
    const reward = mean(scored.map((entry) => episodeReward(entry, evaluated(entry.sampleIndex))));
    return reward === undefined ? null : rounded(reward);
  });
  const judged = results.some(({ scored }) => scored.some(({ correct }) => correct !== undefined));
  const solved = mean(accuracies.filter((accuracy) => accuracy !== null));
  return { scores, ...(judged && solved !== undefined ? { solved: rounded(solved) } : {}) };
}

/** Four digits are more than an evaluation of a hundred tasks can tell. */
function rounded(value: number): number {
  return Number(value.toFixed(4));
}

/** Returns the SHA-256 of a GGUF file, or of all safetensors files of a folder, in the order of their names. */
async function weightsHash(model: string): Promise<string> {
  const hash = createHash("sha256");
  for (const file of await weightFiles(model)) await pipeline(createReadStream(file), hash, { end: false });
  return hash.digest("hex");
}

async function weightFiles(model: string): Promise<string[]> {
  if ((await stat(model)).isFile()) return [model];
  const names = (await readdir(model)).filter((name) => name.endsWith(".safetensors")).sort();
  return names.map((name) => join(model, name));
}

function sha256(content: string): string {
  return createHash("sha256").update(content).digest("hex");
}
