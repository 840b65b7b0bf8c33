import type { EpisodeRow } from "./episode-row.ts";
import { exportedPage } from "./exported-page.ts";
import type { ExportedRun } from "./exported-run.ts";
import type { PageFiles } from "./page-files.ts";
import type { EpisodeView, RunView, ViewSource } from "./view-source.ts";

/** The maximum number of characters of transcripts in one file. Browsers open such a file immediately. */
const maximumCharacters = 32 << 20;

/**
 * Returns a run as one self-contained HTML file: the viewer's page with the run's figures and at most `episodes`
 * transcripts, spread evenly over the run (fewer if they are long). The file reports what it omits. It loads nothing,
 * and runs only its own script.
 */
export async function exportFile(options: {
  readonly source: ViewSource;
  /** As in {@link RunSummary}. */
  readonly path: string;
  readonly page: PageFiles;
  readonly episodes: number;
  readonly signal?: AbortSignal;
}): Promise<string> {
  const run = await exportedRun(options);
  return exportedPage(run, options.page);
}

async function exportedRun(options: {
  readonly source: ViewSource;
  readonly path: string;
  readonly episodes: number;
  readonly signal?: AbortSignal;
}): Promise<ExportedRun> {
  const { source, path, signal } = options;
  const view = withoutLinks(await source.run(path, signal));
  const { runs } = await source.runs(signal);
  const line = runs.find((run) => run.path === path)!;
  if (view.kind === "training" && view.trace === undefined) return { line, view, episodes: [] };
  const { rows, total } = await spreadRows(options);
  const episodes: Pick<EpisodeView, "row" | "episode" | "task" | "tokenTexts">[] = [];
  let left = maximumCharacters;
  for (const { id } of rows) {
    signal?.throwIfAborted();
    const { row, episode, task, tokenTexts } = await source.episode(path, { id, filter: {} }, signal);
    const exported = { row, episode, task, tokenTexts };
    left -= JSON.stringify(exported).length;
    if (left < 0) break;
    episodes.push(exported);
  }
  const count = (value: number): string => value.toLocaleString("en-US");
  const note =
    episodes.length === total
      ? undefined
      : `This file has ${count(episodes.length)} of the run's ${count(total)} transcripts${left < 0 ? ", because they are long" : ", evenly over the run"}. The figures above are of all.`;
  return { line, view: note === undefined ? view : { ...view, note }, episodes };
}

/** Returns the view of a run without the paths of other runs, which the file does not contain. */
function withoutLinks(view: RunView): RunView {
  if (view.kind === "training")
    return { ...view, evaluations: view.evaluations.map(({ path: _, ...evaluation }) => evaluation) };
  const { training: _, ...evaluation } = view;
  return evaluation;
}

/** Returns rows that are spread evenly over a run. */
async function spreadRows(options: {
  readonly source: ViewSource;
  readonly path: string;
  readonly episodes: number;
  readonly signal?: AbortSignal;
}): Promise<{ readonly rows: readonly EpisodeRow[]; readonly total: number }> {
  const { source, path, episodes, signal } = options;
  const at = async (offset: number, limit: number) => source.episodes(path, { filter: {}, offset, limit }, signal);
  const { total } = await at(0, 0);
  const wanted = Math.min(episodes, total);
  const rows: EpisodeRow[] = [];
  for (let place = 0; place < wanted; place++) {
    rows.push(...(await at(Math.floor((place * total) / wanted), 1)).rows);
  }
  return { rows, total };
}
