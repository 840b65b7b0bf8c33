export { type ComparedMetric, type Comparison, compareRuns } from "../evaluate/compare.ts";
export type { EvaluationEvent } from "../evaluate/evaluation-event.ts";
export type { EpisodeEntry } from "../evaluate/log/episode-entry.ts";
export type {
  CorrectRule,
  EvaluationIdentity,
  EvaluationManifest,
  TaskLine,
  TokenPrice,
} from "../evaluate/log/manifest.ts";
export { readEntries, readEpisode, readManifest, readSummary, readTaskLines } from "../evaluate/log/read-log.ts";
export type {
  EpisodeCounts,
  Interval,
  LevelSummary,
  Metric,
  Percentiles,
  TaskSummary,
  TimeSummary,
} from "../evaluate/log/summary.ts";
export { estimatePassAtK, estimatePassHatK } from "../evaluate/metrics/pass-at-k.ts";
export { bradleyTerry } from "../evaluate/ratings/bradley-terry.ts";
export { type RatedPair, type RatedPlayer, type Ratings, rateRuns } from "../evaluate/ratings/rate-runs.ts";
export type { RecordedAnswer } from "../evaluate/rubric-grader.ts";
