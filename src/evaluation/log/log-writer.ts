import type { Episode } from "../../contract/episode.ts";
import { makeFolder } from "../../core/files/make-folder.ts";
import { openIndexFile } from "../../core/trace/index-file.ts";
import { repairIndex } from "../../core/trace/repair-index.ts";
import type { TraceEntry } from "../../core/trace/trace-entry.ts";
import { createTraceWriter, type TracePosition, type TraceWriter } from "../../core/trace/trace-writer.ts";
import { isUnscored } from "../correctness.ts";
import { type EpisodeEntry, type EpisodeJudge, episodeEntry } from "./episode-entry.ts";
import { runFolder } from "./run-folder.ts";

/** Failures first, because an episode in both files failed and was then played again. */
const repaired = ["failures", "episodes"] as const;

/** Writes the episodes of an evaluation and their index. */
export interface LogWriter extends AsyncDisposable {
  /** Writes an episode, like {@link TraceWriter}. Skips aborted episodes, because a resumed run plays them again. */
  write(episode: Episode): Promise<void>;
  /** Waits until all episodes are written. Rejects with `trace.write-failed` if a write failed. */
  close(): Promise<void>;
}

/**
 * Opens the log in a folder and creates the folder if it does not exist. First repairs a log that a killed run left
 * incomplete. `onEntry` is called after each episode has been logged.
 */
export async function openLogWriter(
  options: EpisodeJudge & {
    readonly folder: string;
    readonly onEntry?: (entry: EpisodeEntry, episode: Episode) => void;
  },
): Promise<LogWriter> {
  const { folder, correct, evaluated, onEntry } = options;
  const files = runFolder(folder);
  await makeFolder(folder);
  await repairIndex(
    files.index,
    repaired.map((file) => ({
      path: files[file],
      has: (entry: TraceEntry) => (entry as EpisodeEntry).file === file,
      entryOf: (episode: Episode, position: TracePosition) =>
        episodeEntry(episode, { file, position, correct, evaluated }),
    })),
  );
  await using resources = new AsyncDisposableStack();
  const index = resources.use(await openIndexFile(files.index));
  const openTrace = async (file: EpisodeEntry["file"]): Promise<TraceWriter> =>
    resources.use(
      await createTraceWriter({
        path: files[file],
        append: true,
        onWritten: (episode: Episode, position: TracePosition) => {
          const entry = episodeEntry(episode, { file, position, correct, evaluated });
          index.add(entry);
          onEntry?.(entry, episode);
        },
      }),
    );
  const episodes = await openTrace("episodes");
  const failures = await openTrace("failures");
  const owned = resources.move();
  return {
    write: async (episode) => {
      index.check();
      if (episode.status === "aborted") return;
      await (isUnscored(episode) ? failures : episodes).write(episode);
    },
    close: async () => {
      await episodes.close();
      await failures.close();
      await index.close();
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
