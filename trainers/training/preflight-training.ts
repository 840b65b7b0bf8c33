import type { PreflightEvent } from "../../src/contract/training-event.ts";
import { preflightRun } from "../preflight/preflight-run.ts";
import type { TrainOptions } from "../run/training-run.ts";
import { withTemporaryRun } from "./temporary-run.ts";

/**
 * Makes the checks that a training makes before its first step, without training. Use it for a new model, engine or
 * server. Leaves no files behind. Failed checks are in the result. Throws as `train` does before its first event.
 */
export function preflightTraining(options: Omit<TrainOptions, "output" | "resume">): Promise<PreflightEvent> {
  return withTemporaryRun(options, (run) => preflightRun(run, options.backend.capabilities));
}
