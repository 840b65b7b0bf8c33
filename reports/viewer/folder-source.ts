import { open, realpath } from "node:fs/promises";
import { basename, dirname, join, posix, resolve } from "node:path";
import type { Episode } from "../../src/contract/episode.ts";
import { LyceumError, toErrorData } from "../../src/contract/errors/index.ts";
import { tryParseJson } from "../../src/contract/json.ts";
import { createByteTokenizer } from "../../src/core/tokens/byte-tokenizer.ts";
import type { Tokenizer } from "../../src/core/tokens/tokenizer.ts";
import { fileSize } from "../../src/core/trace/file-size.ts";
import { readEpisodeAt } from "../../src/core/trace/read-episode.ts";
import { withoutUndefined } from "../../src/core/without-undefined.ts";
import { compareRuns } from "../../src/evaluation/compare.ts";
import type { TaskLine } from "../../src/evaluation/log/manifest.ts";
import { readManifest } from "../../src/evaluation/log/read-log.ts";
import { runFolder } from "../../src/evaluation/log/run-folder.ts";
import { metricsFileName } from "../training/metrics-file.ts";
import { breaks } from "./brief-files.ts";
import { type EpisodeFilter, filterRows } from "./episode-filter.ts";
import { type EpisodeIndex, readingOf } from "./episode-index.ts";
import { type IndexedRow, type ShownRow, shownRow } from "./episode-row.ts";
import { firstWords, lastWords, promptNames } from "./episode-text.ts";
import { createEvaluationIndex } from "./evaluation-index.ts";
import { createEvaluationLines } from "./evaluation-line.ts";
import { evaluationView } from "./evaluation-view.ts";
import { type FoundRun, findRuns } from "./find-runs.ts";
import { runPath } from "./run-path.ts";
import { createTextSearch, type TextSearch } from "./text-search.ts";
import { modelOfAgent, tokenTexts } from "./token-texts.ts";
import { createTraceIndex } from "./trace-index.ts";
import { createTrainingLines } from "./training-line.ts";
import { createTrainingReader } from "./training-view.ts";
import type { EpisodeView, RunSummary, ViewSource } from "./view-source.ts";

/** What is known about a run's episodes between two requests. */
interface OpenLog {
  readonly folder: string;
  readonly kind: FoundRun["kind"];
  readonly index: EpisodeIndex;
  /** The last search, so that turning pages does not repeat it. */
  search?: { readonly of: TextSearch; readonly restarts: number };
}

/** The maximum number of episodes on one page. */
const longestPage = 500;

/**
 * Creates a source of the runs in a folder. Reads logs through their index, one transcript at a time. Changed files are
 * read at the next request. Paths outside of the folder are rejected. `tokenizerOf` returns the tokenizer of a model by
 * its name or folder, if there is one. It converts tokens that were recorded as ids to text. A request waits for
 * `patienceMs` for an index that is being read, and then returns what has been read. By default it waits until all is
 * read.
 */
export function folderSource(
  root: string,
  options: {
    readonly tokenizerOf?: (model: string) => Promise<Tokenizer | undefined>;
    readonly patienceMs?: number;
  } = {},
): ViewSource {
  const { tokenizerOf = async () => undefined, patienceMs } = options;
  const trainings = createTrainingReader();
  const trainingLine = createTrainingLines();
  const evaluationLine = createEvaluationLines();
  const logs = new Map<string, OpenLog>();
  const openLog = async (folder: string, kind: OpenLog["kind"]): Promise<OpenLog> => {
    const known = logs.get(folder);
    const log = known?.kind === kind ? known : { folder, kind, index: newIndex(folder, kind) };
    logs.set(folder, log);
    await log.index.update(patienceMs);
    return log;
  };
  const newIndex = (folder: string, kind: OpenLog["kind"]): EpisodeIndex =>
    kind === "evaluation"
      ? createEvaluationIndex(folder)
      : createTraceIndex(folder, () => trainings.stepEnds(folder).catch(() => []));
  /** Returns the episodes of a run. Throws for a folder without a run. */
  const logOf = async (path: string): Promise<OpenLog> => {
    const folder = await runPath(root, path);
    const kind = await kindOf(folder);
    // If it is neither kind of run, the error names the missing manifest.
    if (kind !== "training") await readManifest(folder);
    return await openLog(folder, kind ?? "evaluation");
  };
  const textsOf = async (episode: Episode, { folder, kind }: OpenLog): Promise<EpisodeView["tokenTexts"]> => {
    if (kind === "evaluation") {
      const { identity } = await readManifest(folder);
      return await tokenTexts(episode, async (agent) => {
        const model = modelOfAgent(agent, { sampleIndex: episode.sampleIndex, identity });
        const tokenizer = model === undefined ? undefined : await tokenizerOf(model);
        return tokenizer ?? (await tokenizerOfTraining(dirname(dirname(folder))));
      });
    }
    return await tokenTexts(episode, () => tokenizerOfTraining(folder));
  };
  /** Of the model of a training. An evaluation of a training has no model of its own. */
  const tokenizerOfTraining = async (folder: string): Promise<Tokenizer | undefined> => {
    if ((await kindOf(folder)) !== "training") return undefined;
    const { path, fromScratch } = await trainings.model(folder);
    const tokenizer = (await tokenizerOf(folder)) ?? (path === undefined ? undefined : await tokenizerOf(path));
    return tokenizer ?? (fromScratch ? createByteTokenizer() : undefined);
  };
  const runLine = async ({ path, kind }: FoundRun, home: string): Promise<RunSummary> => {
    try {
      // Links have been excluded.
      const folder = join(home, path);
      if (kind === "training") return await trainingLine({ path, folder });
      return await evaluationLine({ path, folder, index: async () => (await openLog(folder, kind)).index });
    } catch (error) {
      return unreadable({ path, kind }, toErrorData(error).message);
    }
  };
  return {
    runs: async (signal) => {
      const home = await realpath(root);
      const pause = breaks();
      const runs: RunSummary[] = [];
      for (const found of await findRuns(home)) {
        await pause();
        signal?.throwIfAborted();
        runs.push(await runLine(found, home));
      }
      // Times in ISO 8601 are sorted as texts.
      runs.sort((one, other) => (one.startedAt < other.startedAt ? 1 : one.startedAt > other.startedAt ? -1 : 0));
      return { folder: basename(resolve(root)), runs };
    },
    run: async (path) => {
      const folder = await runPath(root, path);
      const kind = (await kindOf(folder)) ?? "evaluation";
      const { index } = await openLog(folder, kind);
      if (kind === "training") return await trainings.view({ path, folder, index });
      const view = await evaluationView({ path, folder, index });
      const isOfTraining = (await kindOf(dirname(dirname(folder)))) === "training" && path.includes("/");
      return isOfTraining ? { ...view, training: posix.dirname(posix.dirname(path)) } : view;
    },
    episodes: async (path, { filter, offset, limit }, signal) => {
      const log = await logOf(path);
      const { rows, more } = await chosenRows(log, filter, signal);
      const page = rows.slice(offset, offset + Math.min(limit, longestPage));
      return {
        total: log.index.rows.length,
        matched: rows.length,
        offset,
        rows: await shownRows(log.index, page, filter.agent),
        ...(more ? { more } : {}),
        ...readingOf(log.index),
      };
    },
    episode: async (path, { id, filter }, signal) => {
      const log = await logOf(path);
      const place = log.index.places.get(id);
      if (place === undefined) throw noEpisode(path, id);
      const row = log.index.rows[place]!;
      const episode = await readEpisodeAt(log.index.paths[row.file]!, row);
      const task = await readTask(log, row.task.index);
      const { rows } = await chosenRows(log, filter, signal);
      const position = rows.indexOf(row);
      const [previous, next] = [rows[position - 1], position < 0 ? undefined : rows[position + 1]];
      return withoutUndefined({
        row: withoutPlace(row),
        episode,
        task,
        position,
        matched: rows.length,
        previous: previous?.id,
        next: next?.id,
        tokenTexts: await textsOf(episode, log),
      });
    },
    compare: async (first, second) => {
      const comparison = await compareRuns(await runPath(root, first), await runPath(root, second));
      const named = (run: typeof comparison.first, folder: string): typeof comparison.first => ({ ...run, folder });
      const prompts = await taskPrompts(await logOf(first), comparison.changed.slice(0, namedTasks));
      return {
        ...comparison,
        first: named(comparison.first, first),
        second: named(comparison.second, second),
        prompts,
      };
    },
  };
}

/** Returns the rows that a filter selects, including its text. */
async function chosenRows(
  log: OpenLog,
  filter: EpisodeFilter,
  signal: AbortSignal | undefined,
): Promise<{ readonly rows: readonly IndexedRow[]; readonly more: boolean }> {
  const { text } = filter;
  const rows = filterRows(log.index.rows, filter);
  if (text === undefined) return { rows, more: false };
  const { restarts } = log.index;
  if (log.search?.of.text !== text || log.search.restarts !== restarts) {
    log.search = { of: createTextSearch(log.index, text), restarts };
  }
  const search = log.search.of;
  await search.run(signal);
  return { rows: rows.filter(({ id }) => search.matches.has(id)), more: search.more };
}

/**
 * The maximum number of bytes of episodes that are read for their last messages, because a page must not wait for long
 * ones.
 */
const lookedInto = 8 << 20;

async function shownRows(
  { paths }: EpisodeIndex,
  rows: readonly IndexedRow[],
  agent: string | undefined,
): Promise<ShownRow[]> {
  const isLong = rows.reduce((sum, { length }) => sum + length, 0) > lookedInto;
  const texts = await Promise.all(
    rows.map(async (row) => {
      // A read error is reported when the episode is opened.
      const episode = isLong ? undefined : await readEpisodeAt(paths[row.file]!, row).catch(() => undefined);
      return episode === undefined ? ["", ""] : [firstWords(episode, agent), lastWords(episode, agent)];
    }),
  );
  const prompts = promptNames(texts.map(([prompt]) => prompt!));
  return rows.map((row, place) => shownRow(withoutPlace(row), { prompt: prompts[place]!, words: texts[place]![1]! }));
}

/** The maximum number of compared tasks that are named by their prompts. */
const namedTasks = 100;

/** Returns the beginning of the prompt of each task, by its hash. */
async function taskPrompts(
  { index }: OpenLog,
  tasks: readonly { readonly id: string; readonly hash: string }[],
): Promise<Record<string, string>> {
  const rows = new Map(index.rows.map((row) => [row.task.id, row]));
  const found = tasks.flatMap(({ id, hash }) => {
    const row = rows.get(id);
    return row === undefined ? [] : [{ hash, row }];
  });
  const shown = await shownRows(
    index,
    found.map(({ row }) => row),
    undefined,
  );
  return Object.fromEntries(found.map(({ hash }, place) => [hash, shown[place]!.prompt ?? ""]));
}

async function readTask({ folder, index }: OpenLog, place: number): Promise<TaskLine | undefined> {
  const task = index.tasks.get(place);
  if (task === undefined) return undefined;
  await using file = await open(runFolder(folder).tasks, "r");
  const { buffer } = await file.read(Buffer.alloc(task.length), 0, task.length, task.offset);
  return tryParseJson<TaskLine>(buffer.toString());
}

async function kindOf(folder: string): Promise<FoundRun["kind"] | undefined> {
  if ((await fileSize(runFolder(folder).manifest)) > 0) return "evaluation";
  return (await fileSize(join(folder, metricsFileName))) > 0 ? "training" : undefined;
}

function withoutPlace({
  file: _,
  offset: __,
  length: ___,
  ...row
}: IndexedRow): Omit<IndexedRow, "file" | "offset" | "length"> {
  return row;
}

function unreadable({ path, kind }: FoundRun, problem: string): RunSummary {
  const empty = { name: "", environment: "", model: "", startedAt: "", done: 0, total: 0, scores: {} };
  return { path, kind, status: "failed", ...empty, problem };
}

function noEpisode(path: string, id: string): LyceumError {
  return new LyceumError({
    code: "data.not-found",
    message: `The run ${path} has no episode ${id}.`,
    hint: "Choose one from its list of episodes.",
  });
}
