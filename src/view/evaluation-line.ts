import type { EvaluationManifest } from "../evaluate/log/manifest.ts";
import { parseManifest, parseSummary, readManifest } from "../evaluate/log/read-log.ts";
import { runFolder } from "../evaluate/log/run-folder.ts";
import type { EvaluationSummary, Metric } from "../evaluate/log/summary.ts";
import { type FileStamp, fileStamp, readParts, sameStamp } from "./brief-files.ts";
import type { EpisodeIndex } from "./episode-index.ts";
import { countRows, metricsSoFar, resumedAfterMs, statusSoFar } from "./evaluation-view.ts";
import type { RunScores, RunSummary } from "./view-source.ts";

type Stamps = readonly (FileStamp | undefined)[];

/** What a line of the list needs of an evaluation: its parts that do not change while its files do not. */
interface BriefEvaluation {
  readonly stamps: Stamps;
  readonly line: Omit<RunSummary, "path" | "status" | "done" | "scores">;
  /** Undefined if there is none yet, or if an interrupted run has gone on since. */
  readonly ended: Pick<RunSummary, "status" | "done" | "scores"> | undefined;
}

/** Reads evaluations in a line each, again only if their files have changed. `index` is asked for without a summary only. */
export function createEvaluationLines(): (run: {
  readonly path: string;
  readonly folder: string;
  readonly index: () => Promise<EpisodeIndex>;
}) => Promise<RunSummary> {
  const known = new Map<string, BriefEvaluation>();
  return async ({ path, folder, index }) => {
    const files = runFolder(folder);
    const stamps = [files.manifest, files.summary, files.index].map(fileStamp);
    let brief = known.get(folder);
    if (brief === undefined || !stamps.every((stamp, place) => sameStamp(stamp, brief!.stamps[place]))) {
      // Says what is missed.
      if (stamps[0] === undefined) await readManifest(folder);
      brief = readBrief(folder, stamps);
      known.set(folder, brief);
    }
    if (brief.ended !== undefined) return { path, ...brief.line, ...brief.ended };
    const { rows } = await index();
    const counts = countRows(rows);
    const status = await statusSoFar(folder);
    return { path, ...brief.line, status, done: counts.played, scores: headline(metricsSoFar(rows, counts)) };
  };
}

function readBrief(folder: string, stamps: Stamps): BriefEvaluation {
  const files = runFolder(folder);
  const [{ size } = { size: 0 }, summaryStamp, indexStamp] = stamps;
  const manifest = parseManifest(readParts(files.manifest, [{ from: 0, length: size }])[0]!, files.manifest);
  const summary = (summaryStamp?.size ?? 0) > 0 ? readSummaryHead(files.summary, summaryStamp!.size) : undefined;
  const wentOn = (indexStamp?.mtimeMs ?? 0) > (summaryStamp?.mtimeMs ?? 0) + resumedAfterMs;
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
    ended:
      summary === undefined || (summary.status === "interrupted" && wentOn)
        ? undefined
        : { status: summary.status, done: summary.counts.played, scores: headline(summary.metrics) },
  };
}

/** Enough for the figures of a summary with some levels. */
const headBytes = 1 << 15;

/** Where the list of tasks begins in a summary as it is written: it is long, and a line does not need it. */
const tasksBegin = ',\n  "tasks": [';

/** A summary, perhaps without what follows its figures. */
function readSummaryHead(path: string, size: number): Pick<EvaluationSummary, "status" | "counts" | "metrics"> {
  if (size > headBytes / 8) {
    const [text] = readParts(path, [{ from: 0, length: Math.min(size, headBytes) }]);
    const end = text!.indexOf(tasksBegin);
    // An end of line stands in no text of JSON: what is cut here is whole.
    if (end >= 0) return parseSummary(`${text!.slice(0, end)}}`, path);
  }
  return parseSummary(readParts(path, [{ from: 0, length: size }])[0]!, path);
}

/** The models of a run as one name. */
function modelName({ identity }: Pick<EvaluationManifest, "identity">): string {
  return [...new Set(Object.values(identity.models))].join(" and ");
}

function headline(metrics: Readonly<Record<string, Metric>>): RunScores {
  const { accuracy, reward } = metrics;
  const winRate = metrics["win-rate"];
  return {
    ...(reward === undefined ? {} : { reward: reward.value }),
    ...(accuracy === undefined ? {} : { accuracy: accuracy.value }),
    ...(winRate === undefined ? {} : { "win rate": winRate.value }),
  };
}
