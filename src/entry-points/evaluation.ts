export type { CorrectRule } from "../contract/correct-rule.ts";
export { type ComparedMetric, type Comparison, compareRuns } from "../evaluation/compare.ts";
export type { EvaluationEvent } from "../evaluation/evaluation-event.ts";
export type { EpisodeEntry } from "../evaluation/log/episode-entry.ts";
export type { EvaluationIdentity, EvaluationManifest, TaskLine, TokenPrice } from "../evaluation/log/manifest.ts";
export { readEntries, readEpisode, readManifest, readSummary, readTaskLines } from "../evaluation/log/read-log.ts";
export type {
  EpisodeCounts,
  Interval,
  LevelSummary,
  Metric,
  Percentiles,
  TaskSummary,
  TimeSummary,
} from "../evaluation/log/summary.ts";
export { estimatePassAtK, estimatePassHatK } from "../evaluation/metrics/pass-at-k.ts";
export { bradleyTerry } from "../evaluation/ratings/bradley-terry.ts";
export { type RatedPair, type RatedPlayer, type Ratings, rateRuns } from "../evaluation/ratings/rate-runs.ts";
export type { RecordedAnswer } from "../evaluation/rubric-grader.ts";
