import type { EpisodeCounts, EvaluationSummary } from "./log/summary.ts";

/**
 * Returns the status of an evaluation that has ended. One in which every episode failed has measured nothing, so that it
 * is not `completed`.
 */
export function evaluationStatus({
  played,
  episodes,
  failed,
}: Pick<EpisodeCounts, "played" | "episodes" | "failed">): EvaluationSummary["status"] {
  if (failed > 0 && failed === played) return "failed";
  return played === episodes ? "completed" : "interrupted";
}
