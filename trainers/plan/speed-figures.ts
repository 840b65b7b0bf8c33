import { exactly, type Interval, product, quotient, ratio, sum } from "./interval.ts";
import type { PlanFigure } from "./plan.ts";
import type { Workload } from "./workload.ts";

/**
 * Returns the figures of speed, time and cost, from the seconds of one step. Each has the assumption of its hardware.
 * Without a price, there is no cost.
 */
export function speedFigures(options: {
  readonly workload: Workload;
  /** Tokens per second in sampling. */
  readonly sampling: Interval;
  /** Seconds of training in one step. */
  readonly training: Interval;
  /** Seconds of one step. */
  readonly step: Interval;
  readonly steps: number;
  /** The seconds of one evaluation and the number of them, if they are planned. */
  readonly evaluation?: { readonly seconds: Interval; readonly count: number };
  /** The price of all hardware for an hour. */
  readonly price: number | undefined;
  readonly assumptions: Readonly<Record<"sampling" | "training" | "step" | "cost", string>>;
}): PlanFigure[] {
  const { workload, sampling, training, step, steps, evaluation, price, assumptions } = options;
  const evaluating = evaluation === undefined ? exactly(0) : product(evaluation.seconds, evaluation.count);
  const hours = quotient(sum(product(step, steps), evaluating), 3600);
  const run =
    evaluation === undefined
      ? `${steps} steps, without evaluations and checkpoints`
      : `${steps} steps and ${evaluation.count} evaluations, without checkpoints`;
  const trained = ratio(workload.trained, training);
  return [
    ...(workload.samples
      ? [{ name: "sampling", unit: "tokens/s" as const, ...sampling, assumption: assumptions.sampling }]
      : []),
    { name: "training", unit: "tokens/s", ...trained, assumption: assumptions.training },
    { name: "one step", unit: "seconds", ...step, assumption: assumptions.step },
    ...(evaluation === undefined
      ? []
      : [
          {
            name: "one evaluation",
            unit: "seconds" as const,
            ...evaluation.seconds,
            assumption: `${workload.evaluation?.sequences} sequences, one of each agent and episode`,
          },
        ]),
    { name: "whole run", unit: "hours", ...hours, assumption: run },
    ...(price === undefined
      ? []
      : [{ name: "cost", unit: "cost" as const, ...product(hours, price), assumption: assumptions.cost }]),
  ];
}
