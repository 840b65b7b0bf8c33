import { type ChangeableRun, engineChanges } from "./engine-changes.ts";
import { engineMemory } from "./engine-memory.ts";
import { engineTime } from "./engine-time.ts";
import { ratio, sum } from "./interval.ts";
import type { MachineRates } from "./measured-machine.ts";
import { fitOf, type Plan } from "./plan.ts";
import { speedFigures } from "./speed-figures.ts";

/** A training on the embedded engine. */
export interface EngineOptions extends ChangeableRun {
  readonly rates: MachineRates;
  readonly steps: number;
  /** The number of evaluations of the run. Default: 0. */
  readonly evaluations?: number;
  /** The price of this machine for an hour, in any currency. */
  readonly price?: number | undefined;
}

/** Estimates a training on this machine's processor, from rates that were measured on it. */
export function planEngine(options: EngineOptions): Plan {
  const { size, workload, rates, steps, evaluations = 0, price } = options;
  const memory = engineMemory({ ...options, memory: rates.memory });
  const { sampling, training, evaluation } = engineTime(options, rates);
  const step = sum(sampling, training);
  const fits = fitOf(memory.at(-1)!, rates.memory);
  return {
    hardware: `this machine's processor, ${rates.threads} threads`,
    basis: "measured",
    parameters: size.parameters,
    trainedParameters: size.trained,
    steps,
    memory,
    speed: speedFigures({
      workload,
      training,
      step,
      steps,
      ...(evaluation === undefined ? {} : { evaluation: { seconds: evaluation, count: evaluations } }),
      price,
      sampling: ratio(workload.sampled, sampling),
      assumptions: {
        sampling: "roofline of decoding, with the measured rates; without the time of environments",
        training:
          "tokens with a loss; 6 N operations (LoRA: 4 N) per token of a sequence at 50 to 90 % of the measured rate",
        step: "sampling and training, without compiling graphs in the first step",
        cost: `this machine at ${price} an hour, as given`,
      },
    }),
    fit: { fits, available: rates.memory, changes: fits === "yes" ? [] : engineChanges(options) },
  };
}
