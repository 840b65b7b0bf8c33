import type { EpisodeCounts, EvaluationSummary } from "./log/summary.ts";

/**
 * Returns the status of an evaluation that has ended. One in which every episode failed, or none has a score, has
 * measured nothing, so that it is not `completed`.
 */
export function evaluationStatus({
  played,
  episodes,
  scored,
  failed,
}: Pick<EpisodeCounts, "played" | "episodes" | "scored" | "failed">): EvaluationSummary["status"] {
  if (failed > 0 && failed === played) return "failed";
  if (played < episodes) return "interrupted";
  return scored === 0 && played > 0 ? "failed" : "completed";
}
