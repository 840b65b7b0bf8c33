import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { ProbeEvent } from "../../src/contract/training-event.ts";
import { completeConfig } from "../config/complete-config.ts";
import { checkConfig } from "../config/training-config.ts";
import { openRun, type TrainOptions } from "../training/training-run.ts";
import { probeSignal } from "./probe-signal.ts";

/**
 * Does what a training does before its first step: opens the models, plays a few tasks and reports whether their
 * rewards have a signal. Leaves no files behind. Throws as `train` does before its first event, and `config.invalid` if
 * the algorithm learns from demonstrations.
 */
export async function probeTraining(options: Omit<TrainOptions, "output" | "resume">): Promise<ProbeEvent> {
  const config = checkConfig(options.config, options.algorithms);
  const output = await mkdtemp(join(tmpdir(), "lyceum-probe-"));
  try {
    await using run = await openRun({
      ...options,
      output,
      config: completeConfig({ ...config, rollout: { ...config.rollout, trace: false } }),
    });
    if (run.algorithm.rollout.actor === "demonstration") throw nothingToProbe(config.algorithm.id);
    return await probeSignal(run, config.probe.groups > 0 ? config.probe : { groups: 4 });
  } finally {
    await rm(output, { recursive: true, force: true });
  }
}

function nothingToProbe(algorithm: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `There is nothing to probe: ${algorithm} learns from demonstrations and needs no reward.`,
    hint: "Train, or choose an algorithm that learns from rewards, such as grpo.",
  });
}
