import { type ComparedMetric, type Comparison, compareRuns } from "../evaluate/compare.ts";
import { formatNumber } from "../report/format.ts";
import { visibleText } from "../report/visible-text.ts";
import type { CompareArguments } from "./eval-program.ts";

/** The most tasks that are listed. */
const listed = 20;

/** `lyceum compare`: prints two evaluations side by side. */
export async function compareCommand(args: CompareArguments, output: { write(text: string): unknown }): Promise<void> {
  const comparison = await compareRuns(args.first, args.second);
  output.write(args.json ? `${JSON.stringify(comparison, undefined, 2)}\n` : visibleText(compareText(comparison)));
}

/** A comparison as a person reads it. */
function compareText({ first, second, shared, metrics, changed }: Comparison): string {
  const model = ({ models }: Comparison["first"]): string => [...new Set(Object.values(models))].join(" and ");
  const alone = [first, second].map((run) => run.alone);
  const lines = [
    `A  ${first.folder}: ${first.name}, ${model(first)}`,
    `B  ${second.folder}: ${second.name}, ${model(second)}`,
    `${shared} tasks in both${alone.some((count) => count > 0) ? ` (A alone ${alone[0]}, B alone ${alone[1]})` : ""}`,
    ...Object.entries(metrics).flatMap(([name, metric]) => metricLines(name, metric)),
    ...changed
      .slice(0, listed)
      .map(({ id, first: a, second: b }) => `  ${id}: ${formatNumber(a)} to ${formatNumber(b)}`),
    ...(changed.length > listed ? [`  and ${changed.length - listed} more: --json has them all`] : []),
  ];
  return `${lines.join("\n")}\n`;
}

function metricLines(name: string, metric: ComparedMetric): string[] {
  const { first, second, difference, interval, wins, losses, ties, tasks, test } = metric;
  const range =
    interval === undefined
      ? ""
      : `, 95 % ${formatNumber(interval.low)} to ${formatNumber(interval.high)} (${interval.method})`;
  return [
    `${name} of ${tasks} tasks: A ${formatNumber(first)}, B ${formatNumber(second)}, B - A ${formatNumber(difference)}${range}`,
    `  B better on ${wins}, worse on ${losses}, the same on ${ties}; ${test.method} test p = ${formatNumber(test.p)}`,
  ];
}
