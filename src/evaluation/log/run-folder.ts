import { join } from "node:path";
import { lockPath } from "../../core/files/run-lock.ts";

/** The version of everything in a run's folder. A reader refuses one that it does not know. */
export const runFolderVersion = 1;

/** The files of an evaluation, in its folder. */
export interface RunFolder {
  readonly path: string;
  /** `evaluation.json`, an {@link EvaluationManifest}: what is evaluated and how. Written first, replaced whole. */
  readonly manifest: string;
  /** `tasks.jsonl`, one {@link TaskLine} a line: every task of the run, in order. Complete before an episode begins. */
  readonly tasks: string;
  /** `episodes.jsonl`, a trace (`readTrace`): every scored episode, appended as it ends. */
  readonly episodes: string;
  /** `failures.jsonl`, a trace: episodes that failed or are unscored. One that is played again may be here twice. */
  readonly failures: string;
  /** `index.jsonl`, one {@link EpisodeEntry} a line: where each episode is, and its outcome. Appended after the trace. */
  readonly index: string;
  /** `summary.json`, an {@link EvaluationSummary}. Written when the run ends or is interrupted, replaced whole. */
  readonly summary: string;
  /** `run.lock`: the process that writes the run, while it does. */
  readonly lock: string;
}

/** The paths of an evaluation's files. Only `evaluation.json` is sure to exist while it goes on. */
export function runFolder(path: string): RunFolder {
  return {
    path,
    manifest: join(path, "evaluation.json"),
    tasks: join(path, "tasks.jsonl"),
    episodes: join(path, "episodes.jsonl"),
    failures: join(path, "failures.jsonl"),
    index: join(path, "index.jsonl"),
    summary: join(path, "summary.json"),
    lock: lockPath(path),
  };
}
