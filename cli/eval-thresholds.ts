import { LyceumError, unknownNameError } from "../src/contract/errors/index.ts";
import type { EvaluationSummary } from "../src/evaluation/log/summary.ts";

/** A threshold for a metric of a run. */
export interface Threshold {
  readonly bound: "min" | "max";
  readonly metric: string;
  readonly value: number;
}

/** Parses `metric=value`. Throws `config.invalid`. */
export function parseThresholds(texts: readonly string[], bound: Threshold["bound"]): Threshold[] {
  return texts.map((text) => {
    const equals = text.lastIndexOf("=");
    const [metric, value] = [text.slice(0, Math.max(0, equals)), text.slice(equals + 1)];
    if (metric !== "" && value.trim() !== "" && Number.isFinite(Number(value))) {
      return { bound, metric, value: Number(value) };
    }
    throw new LyceumError({
      code: "config.invalid",
      message: `--${bound} ${text} is not a threshold.`,
      hint: `Write a metric and a number, such as --${bound} pass@1=0.6.`,
    });
  });
}

/**
 * Throws `evaluation.threshold` with every threshold that a run misses. A metric without a value (because nothing was
 * scored) misses its threshold. Throws `config.unknown-name` for an unknown metric.
 */
export function checkThresholds(summary: EvaluationSummary, thresholds: readonly Threshold[]): void {
  const values = thresholdValues(summary);
  const missed = thresholds.flatMap(({ bound, metric, value }) => {
    const found = values.get(metric);
    if (found === undefined) {
      if (summary.counts.scored > 0)
        throw unknownNameError({ kind: "metric", name: metric, known: [...values.keys()] });
      return `${metric} has no value, because nothing was scored`;
    }
    const kept = bound === "min" ? found >= value : found <= value;
    return kept ? [] : `${metric} is ${found}, and ${bound === "min" ? "at least" : "at most"} ${value} is asked`;
  });
  if (missed.length === 0) return;
  throw new LyceumError({
    code: "evaluation.threshold",
    message: `${summary.name}: ${missed.join("; ")}.`,
    hint: "The run is complete. Its folder contains every episode.",
    data: { name: summary.name, missed },
  });
}

/** Returns metrics by name, counts of episodes, and the share of answers that are reasoning alone. */
function thresholdValues({ metrics, counts, reasoningOnly }: EvaluationSummary): ReadonlyMap<string, number> {
  const { unscored, failed, truncated, scored } = counts;
  return new Map([
    ...Object.entries(metrics).map(([name, { value }]) => [name, value] as const),
    ...Object.entries({ unscored, failed, truncated, scored }),
    ["reasoningOnly", reasoningOnly === undefined ? 0 : reasoningOnly.answers / reasoningOnly.ofAnswers] as const,
  ]);
}
