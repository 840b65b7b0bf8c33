import type { EpisodeFile, IndexedRow } from "./episode-row.ts";

/** A task without its content, and where that is in `tasks.jsonl`. */
export interface IndexedTask {
  readonly level?: string;
  readonly offset: number;
  readonly length: number;
}

/** The episodes of a run, kept in memory in short and followed while it goes on. All else of them stays on disk. */
export interface EpisodeIndex {
  /** In the order in which episodes were first written; one that was played again as it went last. */
  readonly rows: readonly IndexedRow[];
  /** By the id of the episode: the place in `rows`. */
  readonly places: ReadonlyMap<string, number>;
  /** Of an evaluation, by the place in the run. */
  readonly tasks: ReadonlyMap<number, IndexedTask>;
  /** Those that acted in episodes of several. */
  readonly agents: ReadonlySet<string>;
  readonly paths: Readonly<Partial<Record<EpisodeFile, string>>>;
  /** The share of it that was read; 1 where that is all. */
  readonly readShare: number;
  /** Grows whenever rows were thrown away, for the run was taken back or is another one. */
  readonly restarts: number;
  /** Reads what was appended since, for so long at most. Calls at once share one reading. */
  update(maximumMs?: number): Promise<void>;
}

/** The share of an index that was read, where that is not all. */
export function readingOf({ readShare }: Pick<EpisodeIndex, "readShare">): { readonly reading?: number } {
  return readShare < 1 ? { reading: readShare } : {};
}

/** The rows of an index, while they are read. */
export interface RowTable {
  readonly rows: IndexedRow[];
  readonly places: Map<string, number>;
  readonly agents: Set<string>;
  add(row: IndexedRow): void;
  clear(): void;
}

/** An empty table. A row whose id is there already takes its place. */
export function createRowTable(): RowTable {
  const rows: IndexedRow[] = [];
  const places = new Map<string, number>();
  const agents = new Set<string>();
  return {
    rows,
    places,
    agents,
    add: (row) => {
      const place = places.get(row.id);
      if (place === undefined) {
        places.set(row.id, rows.length);
        rows.push(row);
      } else rows[place] = row;
      for (const agent in row.rewards) agents.add(agent);
    },
    clear: () => {
      rows.length = 0;
      places.clear();
      agents.clear();
    },
  };
}

/** Lets calls that come while one is under way wait for it. */
export function shared<Args extends readonly unknown[]>(
  call: (...args: Args) => Promise<void>,
): (...args: Args) => Promise<void> {
  let running: Promise<void> | undefined;
  return (...args) => {
    running ??= call(...args).finally(() => {
      running = undefined;
    });
    return running;
  };
}
