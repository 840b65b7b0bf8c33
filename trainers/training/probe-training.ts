import { invalidConfig, type LyceumError } from "../../src/contract/errors/index.ts";
import type { ProbeEvent } from "../../src/contract/training-event.ts";
import { probeSignal } from "../probe/probe-signal.ts";
import type { TrainOptions } from "../run/training-run.ts";
import { withTemporaryRun } from "./temporary-run.ts";

/**
 * Opens the models of a training, plays a few tasks and reports whether their rewards have a signal. Trains and saves
 * nothing. The advice includes mistakes of the environment that the episodes show. Throws as `train` does before its
 * first event, and `config.invalid` if the algorithm learns from demonstrations.
 */
export function probeTraining(options: Omit<TrainOptions, "output" | "resume">): Promise<ProbeEvent> {
  return withTemporaryRun(options, async (run) => {
    const { algorithm, config } = run;
    if (algorithm.rollout.actor === "demonstration") throw nothingToProbe(config.algorithm.id);
    const { probe, episodes } = await probeSignal(run, config.probe.groups > 0 ? config.probe : { groups: 4 });
    return { ...probe, advice: [...run.warnings.of(episodes), ...probe.advice] };
  });
}

function nothingToProbe(algorithm: string): LyceumError {
  return invalidConfig(
    `There is nothing to probe: ${algorithm} learns from demonstrations and needs no reward.`,
    "Train, or choose an algorithm that learns from rewards, such as grpo.",
  );
}
