import { addJudgeUsage } from "../contract/judge.ts";
import { byGroup } from "../core/task-groups.ts";
import { evaluationStatus } from "./evaluation-status.ts";
import type { EpisodeEntry } from "./log/episode-entry.ts";
import type { EvaluationManifest, TokenPrice } from "./log/manifest.ts";
import type { EvaluationSummary, LevelSummary, TimeSummary } from "./log/summary.ts";
import { evaluationMetrics } from "./metrics/evaluation-metrics.ts";
import { percentiles } from "./metrics/percentiles.ts";
import { countEpisodes, type TaskResult, taskResults, taskSummary } from "./metrics/task-results.ts";
import type { PlannedLine } from "./task-plan.ts";

/** Returns the summary of a run from the entries of its episodes. A pure function. */
export function summarize(options: {
  readonly manifest: EvaluationManifest;
  readonly tasks: readonly PlannedLine[];
  readonly entries: ReadonlyMap<string, EpisodeEntry>;
  readonly time: Pick<TimeSummary, "startedAt" | "endedAt" | "elapsedMs">;
}): EvaluationSummary {
  const { manifest, tasks, entries, time } = options;
  const { samples, name, identity } = manifest;
  const results = taskResults(tasks, { samples, entries });
  const played = results.flatMap((result) => result.played);
  const counts = countEpisodes(results, samples);
  return {
    format: "lyceum-evaluation-summary",
    version: 2,
    name,
    models: identity.models,
    status: evaluationStatus(counts),
    counts,
    correct: manifest.correct,
    metrics: evaluationMetrics(results, manifest),
    levels: levels(results, manifest),
    tasks: results.map(taskSummary),
    ...tokens(played, manifest),
    ...reasoningOnly(played),
    ...judge(played, manifest),
    time: { ...time, ...latencies(played) },
  };
}

/** The results by the group of tasks, in natural order. */
function levels(results: readonly TaskResult[], manifest: EvaluationManifest): Record<string, LevelSummary> {
  return Object.fromEntries(
    [...byGroup(results, ({ task }) => task.level)].map(([level, of]) => [
      level,
      { counts: countEpisodes(of, manifest.samples), metrics: evaluationMetrics(of, manifest) },
    ]),
  );
}

function tokens(
  played: readonly EpisodeEntry[],
  { price }: EvaluationManifest,
): Pick<EvaluationSummary, "tokens" | "cost"> {
  const agents = played.flatMap((entry) => Object.values(entry.agents));
  const counted = agents.filter(({ completionTokens }) => completionTokens !== undefined);
  if (counted.length === 0) return {};
  const prompt = counted.reduce((sum, { promptTokens = 0 }) => sum + promptTokens, 0);
  const completion = counted.reduce((sum, { completionTokens = 0 }) => sum + completionTokens, 0);
  if (price === undefined) return { tokens: { prompt, completion } };
  return { tokens: { prompt, completion }, cost: costOf({ prompt, completion }, price) };
}

function reasoningOnly(played: readonly EpisodeEntry[]): Pick<EvaluationSummary, "reasoningOnly"> {
  const counts = { answers: 0, ofAnswers: 0, episodes: 0 };
  for (const { agents } of played) {
    let answers = 0;
    for (const { actions, reasoningOnly = 0 } of Object.values(agents)) {
      answers += reasoningOnly;
      counts.ofAnswers += actions;
    }
    counts.answers += answers;
    if (answers > 0) counts.episodes += 1;
  }
  return counts.answers === 0 ? {} : { reasoningOnly: counts };
}

function judge(played: readonly EpisodeEntry[], { judgePrice }: EvaluationManifest): Pick<EvaluationSummary, "judge"> {
  const used = played.flatMap((entry) => entry.judge ?? []);
  if (used.length === 0) return {};
  const { promptTokens, completionTokens, ...counts } = used.reduce(addJudgeUsage);
  const tokens = { prompt: promptTokens, completion: completionTokens };
  return { judge: { ...counts, tokens, ...(judgePrice === undefined ? {} : { cost: costOf(tokens, judgePrice) }) } };
}

function costOf(
  { prompt, completion }: { readonly prompt: number; readonly completion: number },
  price: TokenPrice,
): { readonly dollars: number } {
  return { dollars: (prompt * price.prompt + completion * price.completion) / 1e6 };
}

function latencies(played: readonly EpisodeEntry[]): Pick<TimeSummary, "episodeMs" | "actionMs"> {
  const episodeMs = percentiles(played.map(({ durationMs }) => durationMs));
  const actionMs = percentiles(
    played.flatMap(({ agents }) =>
      Object.values(agents).flatMap(({ latencyMs, actions }) => (latencyMs === undefined ? [] : latencyMs / actions)),
    ),
  );
  return { episodeMs, actionMs };
}
