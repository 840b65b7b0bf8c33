import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PreflightEvent } from "../../src/contract/training-event.ts";
import { completeConfig } from "../config/complete-config.ts";
import { checkConfig } from "../config/training-config.ts";
import { openRun, type TrainOptions } from "../training/training-run.ts";
import { preflightRun } from "./preflight-run.ts";

/**
 * Makes the checks that a training makes before its first step, without training. Use it for a new model, engine or
 * server. Leaves no files behind. Failed checks are in the result. Throws as `train` does before its first event.
 */
export async function preflightTraining(options: Omit<TrainOptions, "output" | "resume">): Promise<PreflightEvent> {
  const config = checkConfig(options.config, options.algorithms);
  const output = await mkdtemp(join(tmpdir(), "lyceum-preflight-"));
  try {
    await using run = await openRun({
      ...options,
      output,
      config: completeConfig({ ...config, rollout: { ...config.rollout, trace: false } }),
    });
    return await preflightRun(run, options.backend.capabilities);
  } finally {
    await rm(output, { recursive: true, force: true });
  }
}
