import { metricLabel } from "../reports/training/metric-text.ts";
import { formatDuration, formatMoney, formatNumber, formatPercent } from "../src/core/text/format-numbers.ts";
import { visibleLine, visibleText } from "../src/core/text/visible-text.ts";
import { definesCorrect } from "../src/evaluation/correctness.ts";
import type { EvaluationSummary, Metric } from "../src/evaluation/log/summary.ts";
import type { FirstFailure } from "./first-failure.ts";

/** Returns a summary as text: counts, why the first episode has no score, then a line for each metric. */
export function evalText(summary: EvaluationSummary, folder: string, failure?: FirstFailure): string {
  const { name, models, status, counts, metrics, levels, tokens, cost, reasoningOnly, judge, time } = summary;
  const metricText = (metric: string, value: Metric): string => valueText(metric, value, counts);
  const model = [...new Set(Object.values(models))].join(" and ");
  const isDefined = definesCorrect(summary.correct);
  // With two opponents, the mean reward over both has no meaning.
  const shown = Object.entries(metrics).filter(
    ([metric]) => !("win-rate" in metrics) || !isOfAllAgents(metric, isDefined),
  );
  const rows = shown.map(([metric, value]) => [metricLabel(metric, isDefined), metricText(metric, value)] as const);
  const levelRows = Object.entries(levels).flatMap(([level, of]) => {
    const lead = isDefined && of.metrics.accuracy !== undefined ? "accuracy" : "reward";
    const score = of.metrics[lead];
    if (score === undefined || Object.keys(levels).length < 2) return [];
    return [[`  group ${level}`, metricText(lead, score)] as const];
  });
  const width = Math.max(0, ...[...rows, ...levelRows].map(([label]) => label.length));
  const { p50, p90 } = time.episodeMs ?? {};
  const lines = [
    `${name}, ${model}: ${countsText(counts)}${status === "interrupted" ? " (interrupted)" : ""}`,
    ...(failure === undefined ? [] : failureLines(failure)),
    ...[...rows, ...levelRows].map(([label, text]) => `  ${label.padEnd(width)}  ${text}`),
    ...(tokens === undefined
      ? []
      : [
          `  ${formatNumber(tokens.prompt)} tokens read, ${formatNumber(tokens.completion)} written${cost === undefined ? "" : `, ${formatMoney(cost.dollars)}`}`,
        ]),
    ...(reasoningOnly === undefined ? [] : [`  ${reasoningOnlyText(reasoningOnly)}`]),
    ...(judge === undefined ? [] : [`  ${judgeText(judge)}`]),
    ...(p50 === undefined
      ? []
      : [
          `  ${formatDuration(time.elapsedMs)}; an episode ${formatDuration(p50)}, one in ten ${formatDuration(p90!)} or more`,
        ]),
    `  ${folder}`,
  ];
  return `${visibleText(lines.join("\n"))}\n`;
}

function isOfAllAgents(metric: string, isDefined: boolean): boolean {
  return metric === "reward" || (!isDefined && (metric === "accuracy" || metric.startsWith("pass")));
}

function reasoningOnlyText(counts: NonNullable<EvaluationSummary["reasoningOnly"]>): string {
  const { episodes, answers, ofAnswers } = counts;
  const share = formatPercent(answers / ofAnswers);
  return `reasoning alone: ${formatNumber(answers)} of ${formatNumber(ofAnswers)} answers (${share}), in ${formatNumber(episodes)} episodes`;
}

function judgeText({ requests, cached, failed, tokens, cost }: NonNullable<EvaluationSummary["judge"]>): string {
  const parts = [
    `judge: ${formatNumber(requests)} requests`,
    ...(cached === 0 ? [] : [`${formatNumber(cached)} answers used again`]),
    ...(failed === 0 ? [] : [`${formatNumber(failed)} without an answer`]),
    `${formatNumber(tokens.prompt)} tokens read, ${formatNumber(tokens.completion)} written`,
    ...(cost === undefined ? [] : [`$${formatNumber(cost.dollars)}`]),
  ];
  return parts.join(", ");
}

function countsText({ tasks, played, episodes, unscored, failed, truncated }: EvaluationSummary["counts"]): string {
  const parts = [
    `${formatNumber(tasks)} tasks`,
    played === episodes
      ? `${formatNumber(played)} episodes`
      : `${formatNumber(played)} of ${formatNumber(episodes)} episodes`,
    ...(unscored === 0 ? [] : [`${unscored} unscored`]),
    ...(failed === 0 ? [] : [`${failed} failed`]),
    ...(truncated === 0 ? [] : [`${truncated} cut off`]),
  ];
  return parts.join(", ");
}

function failureLines({ task, failed, message, hint }: FirstFailure): string[] {
  const what = failed ? "first error" : "first unscored";
  return [
    `  ${what}, task ${task.index} (${visibleLine(task.id)}): ${visibleLine(message)}`,
    ...(hint === undefined ? [] : [`    ${hint}`]),
  ];
}

/**
 * Formats a metric. If some episodes have no score, its share of all episodes comes first, because the share of the
 * scored ones looks too good.
 */
function valueText(
  name: string,
  { value, interval, overAll }: Metric,
  { played, scored, unscored }: EvaluationSummary["counts"],
): string {
  const isShare = overAll !== undefined || name === "win-rate";
  const show = isShare ? formatPercent : formatNumber;
  const range =
    interval === undefined ? "" : `  95 % ${show(interval.low)} to ${show(interval.high)} (${interval.method})`;
  if (unscored === 0) return `${show(value)}${range}`;
  const scoredAlone = `of the ${formatNumber(scored)} scored`;
  if (overAll === undefined) return `${show(value)} ${scoredAlone}${range}`;
  return `${show(overAll)} of all ${formatNumber(played)} episodes; ${show(value)} ${scoredAlone}${range}`;
}
