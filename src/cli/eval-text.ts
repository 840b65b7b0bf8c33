import type { EvaluationSummary, Metric } from "../evaluate/log/summary.ts";
import { formatDuration, formatNumber, formatPercent } from "../report/format.ts";
import { visibleText } from "../report/visible-text.ts";

/** A summary as a person reads it: counts, then a line for each metric. */
export function evalText(summary: EvaluationSummary, folder: string): string {
  const { name, models, status, counts, metrics, levels, tokens, cost, time } = summary;
  const model = [...new Set(Object.values(models))].join(" and ");
  const rows = Object.entries(metrics).map(([metric, value]) => [metric, metricText(metric, value)] as const);
  const levelRows = Object.entries(levels).flatMap(([level, of]) => {
    const score = of.metrics.accuracy ?? of.metrics.reward;
    if (score === undefined || Object.keys(levels).length < 2) return [];
    return [
      [`  level ${level}`, metricText(of.metrics.accuracy === undefined ? "reward" : "accuracy", score)] as const,
    ];
  });
  const width = Math.max(0, ...[...rows, ...levelRows].map(([label]) => label.length));
  const { p50, p90 } = time.episodeMs ?? {};
  const lines = [
    `${name}, ${model}: ${countsText(counts)}${status === "interrupted" ? " (interrupted)" : ""}`,
    ...[...rows, ...levelRows].map(([label, text]) => `  ${label.padEnd(width)}  ${text}`),
    ...(tokens === undefined
      ? []
      : [
          `  ${formatNumber(tokens.prompt)} tokens read, ${formatNumber(tokens.completion)} written${cost === undefined ? "" : `, $${formatNumber(cost.dollars)}`}`,
        ]),
    ...(p50 === undefined
      ? []
      : [
          `  ${formatDuration(time.elapsedMs)}; an episode ${formatDuration(p50)}, one in ten ${formatDuration(p90!)} or more`,
        ]),
    `  ${folder}`,
  ];
  return `${visibleText(lines.join("\n"))}\n`;
}

function countsText({ tasks, played, episodes, unscored, failed, truncated }: EvaluationSummary["counts"]): string {
  const parts = [
    `${formatNumber(tasks)} tasks`,
    played === episodes
      ? `${formatNumber(played)} episodes`
      : `${formatNumber(played)} of ${formatNumber(episodes)} episodes`,
    ...(unscored === 0 ? [] : [`${unscored} unscored`]),
    ...(failed === 0 ? [] : [`${failed} of them failed`]),
    ...(truncated === 0 ? [] : [`${truncated} cut off`]),
  ];
  return parts.join(", ");
}

function metricText(name: string, { value, interval, overAll }: Metric): string {
  const isShare = overAll !== undefined || name === "win-rate";
  const show = isShare ? formatPercent : formatNumber;
  const range =
    interval === undefined ? "" : `  95 % ${show(interval.low)} to ${show(interval.high)} (${interval.method})`;
  const least = overAll === undefined || overAll === value ? "" : `  over all ${show(overAll)}`;
  return `${show(value)}${range}${least}`;
}
