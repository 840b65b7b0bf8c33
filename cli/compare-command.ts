import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  type ComparedTraining,
  compareTrainings,
  type TrainingComparison,
} from "../reports/training/compare-trainings.ts";
import { differenceRangeText, differenceText, metricText, verdictText } from "../reports/training/metric-text.ts";
import { metricsFileName } from "../reports/training/metrics-file.ts";
import { truncateText } from "../reports/training/terminal-text.ts";
import { LyceumError } from "../src/contract/errors/index.ts";
import type { Json } from "../src/contract/json.ts";
import { formatDuration, formatNumber } from "../src/core/text/format-numbers.ts";
import { visibleText } from "../src/core/text/visible-text.ts";
import { type ComparedMetric, type Comparison, compareRuns } from "../src/evaluation/compare.ts";
import { differenceVerdict } from "../src/evaluation/metrics/significant-difference.ts";
import type { CompareArguments } from "./eval-program.ts";

/** The maximum number of tasks or settings in the list. */
const listed = 20;

/** Runs `lyceum compare`: prints a comparison of two evaluations or two trainings. */
export async function compareCommand(args: CompareArguments, output: { write(text: string): unknown }): Promise<void> {
  const folders = [args.first, args.second];
  const missing = folders.find((folder) => !existsSync(folder));
  if (missing !== undefined) throw absent(missing);
  const trainings = folders.filter((folder) => existsSync(join(folder, metricsFileName)));
  if (trainings.length === 1) throw unlike(trainings[0]!);
  if (trainings.length === 2) {
    const compared = await compareTrainings(args.first, args.second);
    output.write(args.json ? `${JSON.stringify(compared, undefined, 2)}\n` : visibleText(trainingsText(compared)));
    return;
  }
  const comparison = await compareRuns(args.first, args.second);
  output.write(args.json ? `${JSON.stringify(comparison, undefined, 2)}\n` : visibleText(compareText(comparison)));
}

/** Returns a comparison as text. */
function compareText({ first, second, differences, shared, metrics, changed }: Comparison): string {
  const model = ({ models }: Comparison["first"]): string => [...new Set(Object.values(models))].join(" and ");
  const alone = [first, second].map((run) => run.alone);
  const lines = [
    `A  ${first.folder}: ${first.name}, ${model(first)}`,
    `B  ${second.folder}: ${second.name}, ${model(second)}`,
    ...differenceLines(differences),
    `${shared} tasks in both${alone.some((count) => count > 0) ? ` (only in A ${alone[0]}, only in B ${alone[1]})` : ""}`,
    ...Object.entries(metrics).flatMap(([name, metric]) => metricLines(name, metric)),
    ...changed
      .slice(0, listed)
      .map(({ id, first: a, second: b }) => `  ${id}: ${formatNumber(a)} to ${formatNumber(b)}`),
    ...(changed.length > listed ? [`  and ${changed.length - listed} more; --json prints all`] : []),
  ];
  return `${lines.join("\n")}\n`;
}

function absent(folder: string): LyceumError {
  return new LyceumError({
    code: "data.not-found",
    message: `There is no folder ${folder}.`,
    hint: "Name the folders of two trainings or of two evaluations.",
  });
}

function unlike(training: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `${training} is a training, but the other folder is not. They cannot be compared.`,
    hint: "Use two trainings or two evaluations. To compare models, evaluate both with lyceum eval.",
  });
}

/** Returns the comparison of two trainings as text: their scores, then the differences of their configs. */
function trainingsText({ first, second, differences }: TrainingComparison): string {
  const line = (letter: string, run: ComparedTraining): string =>
    `${letter}  ${run.folder}: ${run.algorithm} on ${run.environment}, ${run.model}, ${formatNumber(run.steps)} steps, ` +
    `${formatDuration(run.elapsedMs)}, ${run.status}`;
  const names = [...new Set([...Object.keys(first.scores), ...Object.keys(second.scores)])];
  const score = (letter: string, { scores }: ComparedTraining, name: string): string => {
    const found = scores[name];
    if (found === undefined) return `  ${letter}  none`;
    const { first: from, last, best, bestStep } = found;
    return `  ${letter}  ${formatNumber(from)} to ${formatNumber(last)}, best ${formatNumber(best)} at step ${formatNumber(bestStep)}`;
  };
  const lines = [
    line("A", first),
    line("B", second),
    ...names.flatMap((name) => [name, score("A", first, name), score("B", second, name)]),
    differences.length === 0 ? "the configs are the same" : "the configs differ:",
    ...differences
      .slice(0, listed)
      .map(({ setting, first: a, second: b }) => `  ${setting}: A ${valueText(a)}, B ${valueText(b)}`),
    ...(differences.length > listed ? [`  and ${differences.length - listed} more; --json prints all`] : []),
  ];
  return `${lines.join("\n")}\n`;
}

/** Returns a warning with each setting that differs between the runs. */
function differenceLines(differences: Comparison["differences"]): string[] {
  if (differences.length === 0) return [];
  return [
    "warning: the runs differ in other settings than the model, which can also change scores:",
    ...differences.map(({ setting, first, second }) => `  ${setting}: A ${valueText(first)}, B ${valueText(second)}`),
  ];
}

function valueText(value: Json): string {
  return value === null ? "none" : truncateText(typeof value === "string" ? value : JSON.stringify(value), 60);
}

function metricLines(name: string, metric: ComparedMetric): string[] {
  const { first, second, difference, interval, wins, losses, ties, tasks, test } = metric;
  const range = interval === undefined ? "" : `, 95 % ${differenceRangeText(name, interval)} (${interval.method})`;
  return [
    `${name} of ${tasks} tasks: A ${metricText(name, first)}, B ${metricText(name, second)}, ` +
      `B - A ${differenceText(name, difference)}${range}`,
    `  B better on ${wins}, worse on ${losses}, the same on ${ties}; ` +
      `${test.method} test p = ${formatNumber(test.p)}: ${verdictText(differenceVerdict(metric))}`,
  ];
}
