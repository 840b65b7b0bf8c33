import { type Interval, product, quotient, ratio } from "./interval.ts";
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
  /** The price of all hardware for an hour. */
  readonly price: number | undefined;
  readonly assumptions: Readonly<Record<"sampling" | "training" | "step" | "cost", string>>;
}): PlanFigure[] {
  const { workload, sampling, training, step, steps, price, assumptions } = options;
  const hours = quotient(product(step, steps), 3600);
  const trained = ratio(workload.trained, training);
  return [
    ...(workload.samples
      ? [{ name: "sampling", unit: "tokens/s" as const, ...sampling, assumption: assumptions.sampling }]
      : []),
    { name: "training", unit: "tokens/s", ...trained, assumption: assumptions.training },
    { name: "one step", unit: "seconds", ...step, assumption: assumptions.step },
    { name: "all steps", unit: "hours", ...hours, assumption: `${steps} steps, without evaluations and checkpoints` },
    ...(price === undefined
      ? []
      : [{ name: "cost", unit: "cost" as const, ...product(hours, price), assumption: assumptions.cost }]),
  ];
}
