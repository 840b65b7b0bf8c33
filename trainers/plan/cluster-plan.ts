import { clusterChanges } from "./cluster-changes.ts";
import { clusterMemory } from "./cluster-memory.ts";
import type { ClusterOptions } from "./cluster-options.ts";
import { stepOverhead } from "./cluster-rates.ts";
import { clusterSampling, clusterTraining } from "./cluster-time.ts";
import { type Interval, product, quotient, ratio, sum } from "./interval.ts";
import { type Fit, fitOf, type Plan, type PlanFigure } from "./plan.ts";

/**
 * Estimates a training on one GPU, or on several with FSDP (ZeRO stage 3), with the sampler on the same GPUs. Each
 * sampler has a whole copy of the weights, on one GPU or split over several.
 */
export function planCluster(options: ClusterOptions): Plan {
  const { size, workload, device, gpus, steps, price } = options;
  const memory = clusterMemory(options);
  const { sampling, decodeRate } = clusterSampling(options);
  const training = clusterTraining(options);
  const step = sum(sampling, training, stepOverhead);
  const hours = quotient(product(step, steps), 3600);
  const figure = (name: string, unit: PlanFigure["unit"], value: Interval, assumption: string): PlanFigure => ({
    ...{ name, unit, assumption },
    ...value,
  });
  const peak = memory.at(-1)!;
  return {
    hardware: `${gpus} x ${device.name}`,
    basis: "not tested",
    parameters: size.parameters,
    trainedParameters: size.trained,
    steps,
    memory,
    speed: [
      ...(workload.samples
        ? [
            figure(
              "sampling",
              "tokens/s",
              decodeRate,
              "roofline of decoding (Williams et al. 2009): weights and cache over 35 to 85 % of the bandwidth",
            ),
          ]
        : []),
      figure(
        "training",
        "tokens/s",
        ratio(workload.trained, training),
        "tokens with a loss; 6 N operations per token (Kaplan et al. 2020) at 8 to 45 % of the peak",
      ),
      figure("one step", "seconds", step, "sampling, training, and 1 to 30 s for environments and weight transfer"),
      figure("all steps", "hours", hours, `${steps} steps, without evaluations and checkpoints`),
      ...(price === undefined
        ? []
        : [figure("cost", "cost", product(hours, price * gpus), `${price} an hour for each GPU, as given`)]),
    ],
    fit: clusterFit(options, peak),
  };
}

function clusterFit(options: ClusterOptions, peak: Interval): Fit {
  const available = options.device.memory;
  const fits = fitOf(peak, available);
  return { fits, available, changes: fits === "yes" ? [] : clusterChanges(options) };
}
