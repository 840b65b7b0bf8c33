import { join } from "node:path";
import type { Episode } from "../../src/contract/episode.ts";
import { tryParseJson } from "../../src/contract/json.ts";
import { fileSize } from "../../src/core/trace/file-size.ts";
import { traceIndexPath } from "../../src/core/trace/indexed-trace-writer.ts";
import { type TraceEntry, traceEntry } from "../../src/core/trace/trace-entry.ts";
import { headerLine } from "../../src/core/trace/trace-format.ts";
import { createRowTable, type EpisodeIndex, shared } from "./episode-index.ts";
import { indexedRow } from "./episode-row.ts";
import { createLineFollower, type FollowedLine } from "./line-follower.ts";

/** The end of a step's episodes in a trace. */
export interface StepEnd {
  readonly step: number;
  readonly traceLength: number;
}

/** Returns the trace of a training's folder. */
export function tracePath(folder: string): string {
  return join(folder, "trace.jsonl");
}

/**
 * Creates the index of the episodes of a training's trace. Reads the index file of the trace's writer. Episodes that it
 * lacks, because the run was killed or the trace comes from elsewhere, are read from the trace itself. `stepEnds`
 * returns the steps, ascending.
 */
export function createTraceIndex(folder: string, stepEnds: () => Promise<readonly StepEnd[]>): EpisodeIndex {
  const path = tracePath(folder);
  const table = createRowTable();
  const index = createLineFollower(traceIndexPath(path));
  const trace = createLineFollower(path);
  const headerLength = Buffer.byteLength(headerLine());
  let restarts = 0;
  let readShare = 1;
  let ends: readonly StepEnd[] = [];

  const restart = (): void => {
    table.clear();
    index.seek(0);
    trace.seek(0);
    ends = [];
    restarts += 1;
  };
  const add = (entry: TraceEntry): void => {
    const { index, id } = entry.task;
    table.add(indexedRow(entry, { file: "trace", task: { index, id }, step: stepAt(ends, entry.offset) }));
  };
  /** A step is known only after its episodes. A resumed run reports the steps that it repeats. */
  const tellSteps = async (): Promise<void> => {
    const before = ends;
    ends = await stepEnds();
    const last = before.at(-1);
    const goesOn = last === undefined || ends[before.length - 1]?.traceLength === last.traceLength;
    if (goesOn && ends.length === before.length) return;
    for (const [place, row] of table.rows.entries()) {
      if (goesOn && row.step !== undefined) continue;
      table.rows[place] = { ...row, step: stepAt(ends, row.offset) };
    }
  };
  const read = async (maximumMs: number): Promise<void> => {
    const until = performance.now() + maximumMs;
    const size = await fileSize(path);
    // Checks that the trace is still the one that was read. Later lines do not matter yet.
    await trace.read({ restart, take: () => false });
    let ended = await index.read({
      restart,
      take: ({ text }) => {
        const entry = tryParseJson<TraceEntry>(text);
        if (entry === undefined) return false;
        const { offset, length } = entry;
        const covered = Math.max(trace.end, headerLength);
        if (offset > covered || offset + length > size) return false;
        if (offset < covered) return true;
        add(entry);
        trace.seek(offset + length);
        return true;
      },
      until,
    });
    const addLine = ({ text, offset, length }: FollowedLine): boolean => {
      const episode = offset === 0 ? undefined : tryParseJson<Episode>(text);
      // A line that is not an episode is skipped if it is complete.
      if (typeof episode?.id === "string") add(traceEntry(episode, { offset, length }));
      return true;
    };
    if (ended !== "time") ended = await trace.read({ restart, take: addLine, until });
    await tellSteps();
    readShare = ended === "time" ? Math.min(1, trace.end / size) : 1;
  };
  return {
    rows: table.rows,
    places: table.places,
    agents: table.agents,
    tasks: new Map(),
    paths: { trace: path },
    get readShare() {
      return readShare;
    },
    get restarts() {
      return restarts;
    },
    update: shared((maximumMs: number = Number.POSITIVE_INFINITY) => read(maximumMs)),
  };
}

/** Returns the step of episodes. Undefined for a step that is not known yet. */
function stepAt(ends: readonly StepEnd[], offset: number): number | undefined {
  let [low, high] = [0, ends.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle]!.traceLength > offset) high = middle;
    else low = middle + 1;
  }
  return ends[low]?.step;
}
