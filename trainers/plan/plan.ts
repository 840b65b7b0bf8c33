import type { Interval } from "./interval.ts";

/** One figure of a plan, with the range that it is expected in. */
export interface PlanFigure extends Interval {
  readonly name: string;
  readonly unit: "bytes" | "tokens/s" | "seconds" | "hours" | "cost" | "tokens" | "FLOP/s";
  /** What the figure assumes, and where its formula comes from. */
  readonly assumption: string;
}

/** The estimate of a training: its memory, speed, time and cost. */
export interface Plan {
  /** The hardware, such as `8 x NVIDIA H100 SXM 80 GB`. */
  readonly hardware: string;
  /**
   * `measured`: the rates of this machine were measured, and trainings of this kind were compared with their plan.
   * `not tested`: nothing was measured on this hardware.
   */
  readonly basis: "measured" | "not tested";
  /** The model's parameters, and how many of them are trained. */
  readonly parameters: number;
  readonly trainedParameters: number;
  readonly steps: number;
  /** Memory: its parts, then their peak. */
  readonly memory: readonly PlanFigure[];
  /** Speed, time and cost. */
  readonly speed: readonly PlanFigure[];
  readonly fit: Fit;
}

/** Whether the memory peak fits into the available memory. */
export interface Fit {
  /** `yes`: the high end fits. `perhaps`: only the low end fits. `no`: neither fits. */
  readonly fits: "yes" | "perhaps" | "no";
  /** The available bytes of one GPU, or of the machine. */
  readonly available: number;
  /** Changes that make it fit. Empty if it fits. */
  readonly changes: readonly string[];
}

/** Returns whether a peak fits. */
export function fitOf(peak: Interval, available: number): Fit["fits"] {
  if (peak.high <= available) return "yes";
  return peak.low <= available ? "perhaps" : "no";
}
