import { median } from "../../src/core/statistics.ts";
import { formatCount, formatDuration, formatNumber, formatPercent } from "../../src/core/text/format-numbers.ts";
import type { RunRecord } from "../training/run-record.ts";

/** A key figure of a run. */
export interface RunTile {
  readonly label: string;
  readonly value: string;
  /** A value to compare it with. */
  readonly note: string;
}

/** Returns the key figures of a run in order of importance: rewards and accuracy, then progress and speed. */
export function runTiles(record: RunRecord): RunTile[] {
  const { steps, start, elapsedMs } = record;
  const done = steps.at(-1)?.step ?? 0;
  const speeds = steps.flatMap(
    ({ metrics }) => metrics["tokens/sampled-per-second"] ?? metrics["tokens/trained-per-second"] ?? [],
  );
  return [
    ...evaluationTiles(record),
    ...stepTile(record, { label: "Training reward", metric: "reward/mean" }),
    ...stepTile(record, { label: "Loss", metric: "loss/total" }),
    { label: "Steps", value: formatNumber(done), note: start === undefined ? "" : `of ${formatNumber(start.steps)}` },
    ...(elapsedMs > 0
      ? [
          {
            label: "Time",
            value: formatDuration(elapsedMs),
            note: done > 0 ? `${formatDuration(elapsedMs / done)} a step` : "",
          },
        ]
      : []),
    ...(speeds.length === 0
      ? []
      : [{ label: "Tokens per second", value: formatCount(median(speeds)), note: "median" }]),
  ];
}

function evaluationTiles({ evaluations }: RunRecord): RunTile[] {
  const last = evaluations.at(-1);
  if (last === undefined) return [];
  const first = evaluations.find(({ split }) => split === last.split)!;
  const tile = (label: string, metric: string, text: (value: number) => string): RunTile[] => {
    const [from, to] = [first.metrics[metric], last.metrics[metric]];
    if (to === undefined) return [];
    const note =
      first === last || from === undefined ? `step ${last.step}` : `from ${text(from)} at step ${first.step}`;
    return [{ label: `${label}, ${last.split}`, value: text(to), note }];
  };
  return [...tile("Reward", "reward/mean", formatNumber), ...tile("Accuracy", "accuracy", formatPercent)];
}

function stepTile({ steps }: RunRecord, { label, metric }: { label: string; metric: string }): RunTile[] {
  const values = steps.flatMap(({ metrics }) => metrics[metric] ?? []);
  const [from, to] = [values[0], values.at(-1)];
  if (from === undefined || to === undefined) return [];
  return [{ label, value: formatNumber(to), note: values.length > 1 ? `from ${formatNumber(from)}` : "" }];
}
