import { openIndexFile } from "./index-file.ts";
import { repairIndex } from "./repair-index.ts";
import { traceEntry } from "./trace-entry.ts";
import { createTraceWriter, type TraceWriter } from "./trace-writer.ts";

/** Returns the path of a trace's index: `trace-index.jsonl` for `trace.jsonl`. */
export function traceIndexPath(path: string): string {
  return path.replace(/(\.jsonl)?$/, "-index.jsonl");
}

/**
 * Opens a trace like {@link createTraceWriter} and writes an index next to it. The index has one line per episode with
 * its place and its results. It is written after the episode's own line. A viewer uses it to open a long trace. The
 * index is repaired first if the trace was cut back or the process was killed.
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
