import { formatBytes, formatDuration, formatMoney, formatNumber } from "../src/core/text/format-numbers.ts";
import type { Interval } from "../trainers/plan/interval.ts";
import type { Plan, PlanFigure } from "../trainers/plan/plan.ts";
import type { Workload } from "../trainers/plan/workload.ts";

/** The plan of a run, or of one of its stages. */
export interface PlannedRun {
  /** The name of the stage. */
  readonly stage?: string;
  readonly model: string;
  readonly workload: Workload;
  /** The most turns that an episode can have, if nothing says how many it usually has. The plan is then for one turn. */
  readonly unknownTurns?: number;
  readonly plan: Plan;
}

/** Returns a plan as a table: each figure with its range and its assumption. */
export function planText({ stage, model, workload, unknownTurns, plan }: PlannedRun): string {
  const { sequences, learners, prompt, completion, turns } = workload;
  const { parameters, trainedParameters, steps, basis, hardware } = plan;
  const trained = trainedParameters === parameters ? "all" : count(trainedParameters);
  const each = learners > 1 ? ` by each of ${learners} agents` : "";
  const lines = [
    ...(stage === undefined ? [] : [`stage ${stage}`]),
    `model     ${model}: ${count(parameters)} parameters, ${trained} trained${each}`,
    `one step  ${count(sequences)} sequences: prompts of ${range(prompt, rounded)} tokens, completions of ${range(completion, rounded)}${turns > 1 ? `, ${turns} turns` : ""}`,
    ...(unknownTurns === undefined
      ? []
      : [`turns     1 is assumed, but an episode can have ${count(unknownTurns)}: give the usual number with --turns`]),
    `run       ${count(steps)} steps`,
    `hardware  ${hardware} (${basis === "measured" ? "rates measured now" : "hardware not tested"})`,
    "",
    ...table(plan),
    "",
    ...fitLines(plan),
  ];
  return `${lines.join("\n")}\n`;
}

function table({ memory, speed }: Plan): string[] {
  const header = ["", "low", "middle", "high", "assumption"];
  const rows = [...memory, ...speed].map((figure) => {
    const show = (value: number): string => figureText(value, figure.unit);
    return [label(figure), show(figure.low), show(figure.middle), show(figure.high), figure.assumption];
  });
  const widths = header.map((_, column) => Math.max(...[header, ...rows].map((row) => row[column]!.length)));
  return [header, ...rows].map((row) =>
    row
      .map((cell, column) => {
        if (column === 0) return cell.padEnd(widths[0]!);
        return column === 4 ? cell : cell.padStart(widths[column]!);
      })
      .join("  ")
      .trimEnd(),
  );
}

function label({ name, unit }: PlanFigure): string {
  return unit === "tokens/s" ? `${name}, tokens/s` : name;
}

function figureText(value: number, unit: PlanFigure["unit"]): string {
  if (unit === "bytes") return formatBytes(value);
  if (unit === "seconds") return formatDuration(value * 1000);
  if (unit === "hours") return formatDuration(value * 3_600_000);
  if (unit === "cost") return formatMoney(value, "");
  return formatNumber(Number(value.toPrecision(3)));
}

function fitLines({ memory, fit }: Plan): string[] {
  const peak = memory.at(-1)!;
  const of = `${formatBytes(peak.low)} to ${formatBytes(peak.high)} of ${formatBytes(fit.available)}`;
  if (fit.fits === "yes") return [`It fits: ${of}.`];
  const changes = fit.changes.map((change) => `  - ${change}`);
  const verdict = fit.fits === "perhaps" ? "It may not fit" : "It does not fit";
  return [`${verdict}: ${of}. What makes it fit:`, ...changes];
}

function range({ low, high }: Interval, show: (value: number) => string): string {
  return show(low) === show(high) ? show(low) : `${show(low)} to ${show(high)}`;
}

function rounded(value: number): string {
  return count(Math.round(value));
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}
