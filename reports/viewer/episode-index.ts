import type { EpisodeFile, IndexedRow } from "./episode-row.ts";

/** A task without its content, and the position of the content in `tasks.jsonl`. */
export interface IndexedTask {
  readonly level?: string;
  readonly offset: number;
  readonly length: number;
}

/**
 * The episodes of a run as short rows in memory. They are updated while the run continues. Everything else stays on
 * disk.
 */
export interface EpisodeIndex {
  /** In the order in which episodes were first written. A row contains the last attempt. */
  readonly rows: readonly IndexedRow[];
  /** The position in `rows`, by the id of the episode. */
  readonly places: ReadonlyMap<string, number>;
  /** For evaluations, by the position in the run. */
  readonly tasks: ReadonlyMap<number, IndexedTask>;
  /** The agents that acted in episodes with several agents. */
  readonly agents: ReadonlySet<string>;
  readonly paths: Readonly<Partial<Record<EpisodeFile, string>>>;
  /** The share of the index that has been read, from 0 to 1. */
  readonly readShare: number;
  /** Increases whenever rows were removed, because the run was reset or replaced. */
  readonly restarts: number;
  /** Reads what was appended since, for a limited time. Concurrent calls share one reading. */
  update(maximumMs?: number): Promise<void>;
}

/** The share of an index that has been read. Undefined if all has been read. */
export function readingOf({ readShare }: Pick<EpisodeIndex, "readShare">): { readonly reading?: number } {
  return readShare < 1 ? { reading: readShare } : {};
}

/** The rows of an index while they are read. */
export interface RowTable {
  readonly rows: IndexedRow[];
  readonly places: Map<string, number>;
  readonly agents: Set<string>;
  add(row: IndexedRow): void;
  clear(): void;
}

/** Creates an empty table. A row whose id already exists replaces it. */
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

/** Lets concurrent calls wait for the running one. */
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
