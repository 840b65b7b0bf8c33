import { tryParseJson } from "../../src/contract/json.ts";
import { fileSize } from "../../src/core/trace/file-size.ts";
import { definesCorrect } from "../../src/evaluation/correctness.ts";
import type { EpisodeEntry } from "../../src/evaluation/log/episode-entry.ts";
import type { TaskLine } from "../../src/evaluation/log/manifest.ts";
import { readManifest } from "../../src/evaluation/log/read-log.ts";
import { runFolder } from "../../src/evaluation/log/run-folder.ts";
import { createRowTable, type EpisodeIndex, type IndexedTask, shared } from "./episode-index.ts";
import { type EpisodeRow, evaluationRow } from "./episode-row.ts";
import { createLineFollower } from "./line-follower.ts";

/**
 * Creates the index of an evaluation's folder. It is empty until the first `update`. A missing `index.jsonl` counts as
 * an empty one.
 */
export function createEvaluationIndex(folder: string): EpisodeIndex {
  const files = runFolder(folder);
  const table = createRowTable();
  const tasks = new Map<number, IndexedTask>();
  /** One object for all episodes of a task. */
  const known = new Map<number, EpisodeRow["task"]>();
  const index = createLineFollower(files.index);
  const taskLines = createLineFollower(files.tasks);
  /** True if the evaluation defines which episodes are correct. */
  let judges = false;
  let restarts = 0;
  let readShare = 1;

  const clear = (): void => {
    table.clear();
    known.clear();
    restarts += 1;
  };
  const addTask = ({ text, offset, length }: { text: string; offset: number; length: number }): boolean => {
    const line = tryParseJson<TaskLine>(text);
    if (line === undefined) return false;
    tasks.set(line.index, { level: line.level, offset, length });
    return true;
  };
  const add = (entry: EpisodeEntry): void => {
    const { index, id } = entry.task;
    let task = known.get(index);
    if (task?.id !== id) {
      task = { index, id };
      known.set(index, task);
    }
    table.add(evaluationRow(entry, { judges, task, level: tasks.get(index)?.level }));
  };
  const read = async (maximumMs: number): Promise<void> => {
    judges = await readManifest(folder).then(
      ({ correct, spec }) => definesCorrect(correct, spec),
      () => false,
    );
    const until = performance.now() + maximumMs;
    const restart = (): void => {
      tasks.clear();
      index.seek(0);
      clear();
    };
    await taskLines.read({ restart, take: addTask });
    const sizes = { episodes: await fileSize(files.episodes), failures: await fileSize(files.failures) };
    const ended = await index.read({
      restart: clear,
      take: ({ text }) => {
        const entry = tryParseJson<EpisodeEntry>(text);
        // An entry beyond the end of its file is read the next time.
        if (entry === undefined || !(entry.offset + entry.length <= sizes[entry.file])) return false;
        add(entry);
        return true;
      },
      until,
    });
    readShare = ended === "time" ? Math.min(1, index.end / (await fileSize(files.index))) : 1;
  };
  return {
    rows: table.rows,
    places: table.places,
    agents: table.agents,
    tasks,
    paths: { episodes: files.episodes, failures: files.failures },
    get readShare() {
      return readShare;
    },
    get restarts() {
      return restarts;
    },
    update: shared((maximumMs: number = Number.POSITIVE_INFINITY) => read(maximumMs)),
  };
}
