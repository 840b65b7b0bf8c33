import { LyceumError } from "../../../../src/contract/errors/index.ts";
import { gigabytes, machineMemory } from "../../../../src/core/machine-memory.ts";
import type { ParameterSpec } from "../architecture/parameters.ts";

/** What an optimizer keeps beside the weights that it trains: a gradient and two moments of each. */
const trainedArrays = 4;

/**
 * Refuses parameters that do not fit into the memory of this machine, `backend.unsupported`, before anything is
 * allocated: a system gives out memory that it does not have, and ends the process once it is used.
 */
export function checkParameterMemory(
  specs: readonly ParameterSpec[],
  { trained }: { readonly trained: boolean },
): void {
  const count = specs.reduce((sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1), 0);
  const bytes = 4 * count * (trained ? trainedArrays : 1);
  const memory = machineMemory();
  if (bytes <= memory) return;
  const why = trained ? " with gradient and moments" : "";
  throw new LyceumError({
    code: "backend.unsupported",
    message: `There is no memory for ${count.toLocaleString("en")} parameters: they take ${gigabytes(bytes)}${why}, and there are ${gigabytes(memory)}.`,
    hint: trained
      ? "Choose a smaller model or a low-rank adapter, or a machine with more memory."
      : "Choose a smaller model, or a machine with more memory.",
    data: { count, bytes, memory },
  });
}
