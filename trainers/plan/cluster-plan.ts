import { clusterChanges } from "./cluster-changes.ts";
import { clusterMemory } from "./cluster-memory.ts";
import type { ClusterOptions } from "./cluster-options.ts";
import { stepOverhead } from "./cluster-rates.ts";
import { clusterSampling, clusterTraining } from "./cluster-time.ts";
import { type Interval, sum } from "./interval.ts";
import { type Fit, fitOf, type Plan } from "./plan.ts";
import { speedFigures } from "./speed-figures.ts";

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
  const peak = memory.at(-1)!;
  return {
    hardware: `${gpus} x ${device.name}`,
    basis: "not tested",
    parameters: size.parameters,
    trainedParameters: size.trained,
    steps,
    memory,
    speed: speedFigures({
      workload,
      training,
      step,
      steps,
      sampling: decodeRate,
      price: price === undefined ? undefined : price * gpus,
      assumptions: {
        sampling: "roofline of decoding (Williams et al. 2009): weights and cache over 35 to 85 % of the bandwidth",
        training: "tokens with a loss; 6 N operations per token (Kaplan et al. 2020) at 8 to 45 % of the peak",
        step: "sampling, training, and 1 to 30 s for environments and weight transfer",
        cost: `${price} an hour for each GPU, as given`,
      },
    }),
    fit: clusterFit(options, peak),
  };
}

function clusterFit(options: ClusterOptions, peak: Interval): Fit {
  const available = options.device.memory;
  const fits = fitOf(peak, available);
  return { fits, available, changes: fits === "yes" ? [] : clusterChanges(options) };
}
