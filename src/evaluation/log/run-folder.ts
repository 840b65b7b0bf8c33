import { join } from "node:path";
import { lockPath } from "../../core/files/run-lock.ts";

/** The version of all formats in a run folder. Readers reject unknown versions. */
export const runFolderVersion = 2;

/** The paths of the files in an evaluation's run folder. */
export interface RunFolder {
  readonly path: string;
  /** `evaluation.json`, an {@link EvaluationManifest}: the settings. Written first, and replaced atomically. */
  readonly manifest: string;
  /** `tasks.jsonl`, one {@link TaskLine} per line: all tasks in order. Complete before the first episode begins. */
  readonly tasks: string;
  /** `episodes.jsonl`, a trace (see `readTrace`): the scored episodes, appended when they end. */
  readonly episodes: string;
  /**
   * `failures.jsonl`, a trace: episodes that failed or are unscored. Episodes that are played again can occur twice.
   */
  readonly failures: string;
  /**
   * `index.jsonl`, one {@link EpisodeEntry} per line: position and result of each episode. Appended after the trace.
   */
  readonly index: string;
  /** `summary.json`, an {@link EvaluationSummary}. Replaced atomically when the run ends or is interrupted. */
  readonly summary: string;
  /** `run.lock`: names the process that writes the run. Exists only during the run. */
  readonly lock: string;
}

/** Returns the paths of an evaluation's files. During a run, only `evaluation.json` is guaranteed to exist. */
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
