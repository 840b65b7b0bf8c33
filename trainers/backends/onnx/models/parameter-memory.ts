import { LyceumError } from "../../../../src/contract/errors/index.ts";
import { machineMemory } from "../../../../src/core/machine-memory.ts";
import { formatBytes } from "../../../../src/core/text/format-numbers.ts";
import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import type { ParameterSpec } from "../../../model-folders/architecture/parameters.ts";
import { type Quantization, quantizedBytes } from "../../../model-folders/architecture/quantized-parameters.ts";

/** The number of arrays per trained parameter: the weights, the gradient and two moments. */
const trainedArrays = 4;

/** The bytes that a process needs at least next to its weights: Node, ONNX Runtime and the values of one short pass. */
const processBytes = 400e6;

/**
 * The bytes of a base from which its copy in the layout for decoding and the graphs of training are not kept at the same
 * time. Each is compiled again, which takes one to two seconds for 500 MB.
 */
export const largeBase: number = 2 ** 28;

/**
 * Returns true if memory has room for a base of these bytes, its copy in the layout for decoding, and as much again. If
 * not, decoding reads the base in place, which is slower.
 */
export function hasRoomForDecodingCopy(baseBytes: number, memory: number = machineMemory()): boolean {
  return 3 * baseBytes <= memory;
}

/**
 * Throws `backend.unsupported` if parameters do not fit into the memory of this machine. The hint names the nearest setting
 * of a base, whose shape is `config`, that fits. Checks before the allocation, because operating systems grant memory that
 * they do not have and kill the process when it is used.
 */
export function checkParameterMemory(
  specs: readonly ParameterSpec[],
  options: {
    readonly trained: boolean;
    readonly quantization?: Quantization | undefined;
    readonly config?: DecoderConfig;
  },
): void {
  const { trained, quantization, config } = options;
  const count = countOf(specs);
  const own = quantization === undefined ? 4 * count : quantizedBytes(specs, quantization);
  const bytes = own * (trained ? trainedArrays : 1);
  const memory = machineMemory();
  const fits = (needed: number): boolean => needed + processBytes <= memory;
  if (fits(bytes)) return;
  const why = trained ? " with gradient and moments" : "";
  const smaller =
    config && smallerForms(specs, { trained, config }).find((form) => form.bytes < bytes && fits(form.bytes));
  throw new LyceumError({
    code: "backend.unsupported",
    message: `There is not enough memory for ${count.toLocaleString("en")} parameters: they need ${formatBytes(bytes)}${why}, and the process ${formatBytes(processBytes)}, but the machine has ${formatBytes(memory)}.`,
    hint:
      smaller === undefined
        ? "Choose a smaller model, or a machine with more memory."
        : `Set ${smaller.settings}: the weights then need ${formatBytes(smaller.bytes)}. Or choose a smaller model, or a machine with more memory.`,
    data: { count, bytes, memory },
  });
}

/** Returns the settings with which the weights of a base need less memory, the nearest first. */
function smallerForms(
  specs: readonly ParameterSpec[],
  { trained, config }: { readonly trained: boolean; readonly config: DecoderConfig },
): readonly { readonly settings: string; readonly bytes: number }[] {
  const adapter = "model.adapter to an adapter (type: lora)";
  const quantized = ([8, 4] as const).map((bits) => ({
    settings: `${trained ? `${adapter} and ` : ""}backend.quantize to ${bits} (--quantize ${bits})`,
    bytes: quantizedBytes(specs, { config, bits }),
  }));
  return trained ? [{ settings: adapter, bytes: 4 * countOf(specs) }, ...quantized] : quantized;
}

function countOf(specs: readonly ParameterSpec[]): number {
  return specs.reduce((sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1), 0);
}
