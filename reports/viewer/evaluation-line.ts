import { definesCorrect } from "../../src/evaluation/correctness.ts";
import { evaluationStatus } from "../../src/evaluation/evaluation-status.ts";
import type { EvaluationManifest } from "../../src/evaluation/log/manifest.ts";
import { parseManifest, parseSummary, readManifest } from "../../src/evaluation/log/read-log.ts";
import { type RunFolder, runFolder } from "../../src/evaluation/log/run-folder.ts";
import type { EvaluationSummary } from "../../src/evaluation/log/summary.ts";
import { type FileStamp, fileStamp, readParts, sameStamp } from "./brief-files.ts";
import type { EpisodeIndex } from "./episode-index.ts";
import type { EpisodeRow } from "./episode-row.ts";
import { readEvaluationRows } from "./evaluation-rows.ts";
import { countRows, metricsSoFar, resumedAfterMs } from "./evaluation-view.ts";
import { unfinishedStatus } from "./run-status.ts";
import type { RunStatus, RunSummary } from "./view-source.ts";

/** The files that determine the list entry, in addition to the process that writes the run. */
const watched = ["manifest", "summary", "index", "episodes", "failures"] as const;

type Stamps = Readonly<Record<(typeof watched)[number], FileStamp | undefined>>;

/** The parts of an evaluation that its list entry needs. They change only if the files change. */
interface BriefEvaluation {
  readonly stamps: Stamps;
  readonly line: Omit<RunSummary, "path" | "status" | "done" | "failed" | "scores">;
  /** Undefined if there is no summary, or if an interrupted run has continued since. Then its process decides. */
  readonly status: RunStatus | undefined;
  /** Undefined if its index is long. */
  readonly figures: Figures | undefined;
}

type Figures = Pick<RunSummary, "done" | "failed" | "scores">;
type Metrics = EvaluationSummary["metrics"];

/** Indexes up to this size, some thousands of episodes, are read at once. Longer ones are read as they grow. */
const briefBytes = 1 << 20;

/** Reads list entries of evaluations, again only if the files have changed. `index` is called for long indexes only. */
export function createEvaluationLines(): (run: {
  readonly path: string;
  readonly folder: string;
  readonly index: () => Promise<EpisodeIndex>;
}) => Promise<RunSummary> {
  const known = new Map<string, BriefEvaluation>();
  return async ({ path, folder, index }) => {
    const files = runFolder(folder);
    const stamps = stampsOf(files);
    let brief = known.get(folder);
    if (brief === undefined || !watched.every((file) => sameStamp(stamps[file], brief!.stamps[file]))) {
      // Rejects with the missing file.
      if (stamps.manifest === undefined) await readManifest(folder);
      brief = readBrief(files, stamps);
      known.set(folder, brief);
    }
    const changed = Math.max(stamps.index?.mtimeMs ?? 0, stamps.manifest?.mtimeMs ?? 0);
    const status = brief.status ?? unfinishedStatus(folder, changed);
    return { path, ...brief.line, status, ...(brief.figures ?? figuresSoFar((await index()).rows)) };
  };
}

function stampsOf(files: RunFolder): Stamps {
  return {
    manifest: fileStamp(files.manifest),
    summary: fileStamp(files.summary),
    index: fileStamp(files.index),
    episodes: fileStamp(files.episodes),
    failures: fileStamp(files.failures),
  };
}

function readBrief(files: RunFolder, stamps: Stamps): BriefEvaluation {
  const [text] = readParts(files.manifest, [{ from: 0, length: stamps.manifest?.size ?? 0 }]);
  const manifest = parseManifest(text!, files.manifest);
  const summary = (stamps.summary?.size ?? 0) > 0 ? readSummaryHead(files.summary, stamps.summary!.size) : undefined;
  const wentOn = (stamps.index?.mtimeMs ?? 0) > (stamps.summary?.mtimeMs ?? 0) + resumedAfterMs;
  const status = summary && evaluationStatus(summary.counts);
  const ended = status !== "completed" && wentOn ? undefined : summary;
  const judges = definesCorrect(manifest.correct, manifest.spec);
  return {
    stamps,
    line: {
      kind: "evaluation",
      name: manifest.name,
      environment: manifest.identity.environment.name,
      model: modelName(manifest),
      startedAt: manifest.startedAt,
      total: manifest.tasks * manifest.samples,
    },
    status: ended && status,
    figures:
      ended !== undefined
        ? figuresOf(ended.counts, judges ? ended.metrics : withoutAccuracy(ended.metrics))
        : (stamps.index?.size ?? 0) <= briefBytes
          ? figuresSoFar(readEvaluationRows(files, { stamps, judges }))
          : undefined,
  };
}

function figuresSoFar(rows: readonly EpisodeRow[]): Figures {
  const counts = countRows(rows);
  return figuresOf(counts, metricsSoFar(rows, counts));
}

function figuresOf({ played, failed }: { played: number; failed: number }, metrics: Metrics): Figures {
  const { accuracy, reward } = metrics;
  const winRate = metrics["win-rate"];
  return {
    done: played,
    scores: { reward: reward?.value, accuracy: accuracy?.value, "win rate": winRate?.value },
    ...(failed === 0 ? {} : { failed }),
  };
}

/** Without a definition of correctness, the metric counts episodes with the highest reward. */
function withoutAccuracy({ accuracy: _, ...metrics }: Metrics): Metrics {
  return metrics;
}

/** Enough for the figures of a summary with some levels. */
const headBytes = 1 << 15;

/** The position of the list of tasks in a written summary. The list is long, and a list entry does not need it. */
const tasksBegin = ',\n  "tasks": [';

/** Parses a summary, perhaps without the part after its figures. */
function readSummaryHead(path: string, size: number): Pick<EvaluationSummary, "counts" | "metrics"> {
  if (size > headBytes / 8) {
    const [text] = readParts(path, [{ from: 0, length: Math.min(size, headBytes) }]);
    const end = text!.indexOf(tasksBegin);
    // A text in JSON contains no line break, so the part before one is complete.
    if (end >= 0) return parseSummary(`${text!.slice(0, end)}}`, path);
  }
  return parseSummary(readParts(path, [{ from: 0, length: size }])[0]!, path);
}

/** Returns the models of a run as one name. */
function modelName({ identity }: Pick<EvaluationManifest, "identity">): string {
  return [...new Set(Object.values(identity.models))].join(" and ");
}
