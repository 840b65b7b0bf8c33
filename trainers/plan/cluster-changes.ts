import { clusterMemory } from "./cluster-memory.ts";
import type { ClusterOptions } from "./cluster-options.ts";

/** The largest number of GPUs that is proposed. */
const mostGpus = 1024;

/**
 * Returns the single changes that make a training fit, so that the high end of its memory fits into a GPU: a smaller
 * micro-batch, recomputation, fewer sequences at a time in sampling, an adapter, more GPUs. If no single change is
 * enough, returns one entry: all changes together, with more GPUs if needed, or the advice that only another model
 * helps.
 */
export function clusterChanges(options: ClusterOptions): string[] {
  const { size, gpus, microBatch, recompute, decodeBatch } = options;
  const fits = (changed: Partial<ClusterOptions>): boolean =>
    clusterMemory({ ...options, ...changed }).at(-1)!.high <= options.device.memory;
  const changes: string[] = [];
  for (let smaller = Math.floor(microBatch / 2); smaller >= 1; smaller = Math.floor(smaller / 2)) {
    if (!fits({ microBatch: smaller })) continue;
    changes.push(`a micro-batch of ${smaller} sequences: --micro-batch ${smaller}`);
    break;
  }
  if (!recompute && fits({ recompute: true })) changes.push("recomputed activations: leave out --keep-activations");
  for (let fewer = Math.floor(decodeBatch / 2); fewer >= 1; fewer = Math.floor(fewer / 2)) {
    if (!fits({ decodeBatch: fewer })) continue;
    changes.push(`${fewer} sequences at a time in sampling: --decode-batch ${fewer}`);
    break;
  }
  const { adapted } = options;
  if (size.adapter === 0 && fits({ size: adapted })) changes.push("an adapter: --set model.adapter.type=lora");
  const more = moreGpus(gpus, (count) => fits({ gpus: count }));
  if (more !== undefined) changes.push(`${more} GPUs: --gpus ${more}`);
  if (changes.length > 0) return changes;
  const least = { microBatch: 1, recompute: true, decodeBatch: 1, size: size.adapter === 0 ? adapted : size };
  const together = moreGpus(gpus, (count) => fits({ ...least, gpus: count }));
  const all = "a micro-batch and a sampling batch of one sequence, recomputed activations and an adapter";
  return together === undefined
    ? ["a smaller model, shorter sequences, or GPUs with more memory: no other change is enough"]
    : [`${all}, together${together === gpus ? "" : ` with ${together} GPUs`}`];
}

function moreGpus(gpus: number, fits: (count: number) => boolean): number | undefined {
  for (let count = gpus; count <= mostGpus; count *= 2) if (fits(count)) return count;
  return undefined;
}
