import { LyceumError } from "../../../../src/contract/errors/index.ts";
import { gigabytes, machineMemory } from "../../../../src/core/machine-memory.ts";
import type { ParameterSpec } from "../../../model-folders/architecture/parameters.ts";
import { type Quantization, quantizedBytes } from "../../../model-folders/architecture/quantized-parameters.ts";

/** The number of arrays per trained parameter: the weights, the gradient and two moments. */
const trainedArrays = 4;

/**
 * Throws `backend.unsupported` if parameters do not fit into the memory of this machine. Checks before the allocation,
 * because operating systems grant memory that they do not have and kill the process when it is used.
 */
export function checkParameterMemory(
  specs: readonly ParameterSpec[],
  { trained, quantization }: { readonly trained: boolean; readonly quantization?: Quantization | undefined },
): void {
  const count = specs.reduce((sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1), 0);
  const own = quantization === undefined ? 4 * count : quantizedBytes(specs, quantization);
  const bytes = own * (trained ? trainedArrays : 1);
  const memory = machineMemory();
  if (bytes <= memory) return;
  const why = trained ? " with gradient and moments" : "";
  throw new LyceumError({
    code: "backend.unsupported",
    message: `There is not enough memory for ${count.toLocaleString("en")} parameters: they need ${gigabytes(bytes)}${why}, but the machine has ${gigabytes(memory)}.`,
    hint: trained
      ? "Choose a smaller model or a low-rank adapter, or a machine with more memory."
      : "Choose a smaller model, or a machine with more memory.",
    data: { count, bytes, memory },
  });
}
