import type { Episode } from "../../src/contract/episode.ts";
import { filterRows } from "./episode-filter.ts";
import { type EpisodeRow, shownRow } from "./episode-row.ts";
import { firstWords, hasText, lastWords, promptNames } from "./episode-text.ts";
import type { ComparisonView, EpisodeView, RunSummary, RunView, ViewSource } from "./view-source.ts";

/** The content of an exported file: one run, and some of its transcripts. */
export interface ExportedRun {
  readonly line: RunSummary;
  readonly view: RunView;
  readonly episodes: readonly Pick<EpisodeView, "row" | "episode" | "task" | "tokenTexts">[];
}

/** Creates the source of an exported file's data. It filters and searches in the browser like the server. */
export function exportedSource({ line, view, episodes }: ExportedRun): ViewSource {
  const byId = new Map(episodes.map((exported) => [exported.row.id, exported]));
  const allRows = episodes.map(({ row }) => row);
  const rowsOf: (filter: Parameters<typeof filterRows>[1]) => typeof allRows = (filter) => {
    const rows = filterRows(allRows, filter);
    const { text } = filter;
    return text === undefined ? rows : rows.filter(({ id }) => hasText(byId.get(id)!.episode, text));
  };
  return {
    runs: async () => ({ folder: line.name, runs: [line] }),
    run: async () => view,
    episodes: async (_path, { filter, offset, limit }) => {
      const rows = rowsOf(filter);
      const page = rows.slice(offset, offset + limit);
      const episodeOf = ({ id }: EpisodeRow): Episode => byId.get(id)!.episode;
      const prompts = promptNames(page.map((row) => firstWords(episodeOf(row), filter.agent)));
      const shown = page.map((row, place) =>
        shownRow(row, { prompt: prompts[place]!, words: lastWords(episodeOf(row), filter.agent) }),
      );
      return { total: allRows.length, matched: rows.length, offset, rows: shown };
    },
    episode: async (_path, { id, filter }) => {
      const exported = byId.get(id);
      if (exported === undefined) throw new Error("This file does not have that transcript.");
      const rows = rowsOf(filter);
      const position = rows.indexOf(exported.row);
      const [previous, next] = [rows[position - 1], position < 0 ? undefined : rows[position + 1]];
      return {
        ...exported,
        position,
        matched: rows.length,
        ...(previous === undefined ? {} : { previous: previous.id }),
        ...(next === undefined ? {} : { next: next.id }),
      };
    },
    compare: (): Promise<ComparisonView> => Promise.reject(new Error("This file has one run only.")),
  };
}
