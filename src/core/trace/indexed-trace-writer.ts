import { openIndexFile } from "./index-file.ts";
import { repairIndex } from "./repair-index.ts";
import { traceEntry } from "./trace-entry.ts";
import { createTraceWriter, type TraceWriter } from "./trace-writer.ts";

/** The index of a trace: `trace.jsonl` has `trace-index.jsonl` beside it. */
export function traceIndexPath(path: string): string {
  return path.replace(/(\.jsonl)?$/, "-index.jsonl");
}

/**
 * Opens a trace as {@link createTraceWriter} does, with an index beside it that says where each episode is and how it
 * went: one entry a line, written after the episode's own line. A viewer opens a long trace by it. What the trace was
 * cut back to, or a kill left of the index, is repaired first.
 */
export async function createIndexedTraceWriter(
  options: Pick<Parameters<typeof createTraceWriter>[0], "path" | "append">,
): Promise<TraceWriter> {
  const { path } = options;
  await using resources = new AsyncDisposableStack();
  const trace = resources.use(
    await createTraceWriter({ ...options, onWritten: (episode, place) => index.add(traceEntry(episode, place)) }),
  );
  const indexPath = traceIndexPath(path);
  await repairIndex(indexPath, [{ path, has: () => true, entryOf: traceEntry }]);
  const index = resources.use(await openIndexFile(indexPath));
  const owned = resources.move();
  return {
    get episodes() {
      return trace.episodes;
    },
    write: async (episode) => {
      index.check();
      await trace.write(episode);
    },
    flush: () => trace.flush(),
    close: async () => {
      await trace.close();
      await index.close();
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
