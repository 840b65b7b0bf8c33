import { LyceumError } from "../src/contract/errors/index.ts";
import { machineMemory } from "../src/core/machine-memory.ts";
import { formatBytes } from "../src/core/text/format-numbers.ts";
import type { Algorithm } from "../trainers/algorithms/index.ts";
import { chooseDevice } from "../trainers/backends/onnx/device.ts";
import type { DecoderConfig } from "../trainers/model-folders/architecture/decoder-config.ts";
import { checkTargets } from "../trainers/model-folders/architecture/lora-layers.ts";
import { decoderParameters } from "../trainers/model-folders/architecture/parameters.ts";
import { type Bits, quantizedBytes } from "../trainers/model-folders/architecture/quantized-parameters.ts";
import { engineChanges } from "../trainers/plan/engine-changes.ts";
import { engineMemory } from "../trainers/plan/engine-memory.ts";
import { exactly } from "../trainers/plan/interval.ts";
import { loadShape } from "../trainers/plan/load-shape.ts";
import { modelSize } from "../trainers/plan/model-size.ts";
import { planWorkload, type Workload } from "../trainers/plan/workload.ts";
import type { RunConfig } from "./run-config.ts";

/** Returns how the embedded engine runs the training of a config, as plans describe it. */
export function engineRun(config: RunConfig, { shape, workload }: { shape: DecoderConfig; workload: Workload }) {
  const { backend, model, training } = config;
  const bits = backend.type === "onnx" ? backend.quantize : undefined;
  const { path, adapter } = model;
  // The engine does not quantize models from scratch, nor bases into which an adapter is merged.
  const isQuantizable = path !== undefined && !(adapter.type === "lora" && adapter.start === "merge");
  const bytesOf = (of: Bits): number => quantizedBytes(decoderParameters(shape), { config: shape, bits: of });
  return {
    size: modelSize(shape, adapter),
    adapted: modelSize(shape, { type: "lora" }),
    workload,
    maxTokensPerMicroBatch: training.maxTokensPerMicroBatch ?? 2048,
    quantizedBytes: bits && bytesOf(bits),
    quantizedBytesOf: isQuantizable ? bytesOf : undefined,
  };
}

/**
 * Throws `backend.unsupported`, with what makes it fit, if a training on this machine's processor cannot fit into memory.
 * Operating systems would end it without a message. Prompts and answers count as one token, so a training that passes can
 * still be too large: `lyceum plan` measures them. Also throws `config.unknown-name` for a target of the adapter that the
 * model lacks. Skips other devices, and models that cannot be read: the training refuses those.
 */
export async function checkTrainingMemory(
  config: RunConfig,
  options: {
    readonly algorithm: Algorithm;
    readonly agents: number;
    /** The name of the stage. */
    readonly stage?: string | undefined;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { model, backend, agents: named } = config;
  const { stage } = options;
  if (backend.type !== "onnx" || Object.keys(named.models).length > 0) return;
  // A named device is tried by the training.
  if (model.device !== "cpu" && model.device !== "auto") return;
  if ((await chooseDevice(model.device, model)) !== "cpu") return;
  const shape = await loadShape(model, options).catch(() => undefined);
  if (shape === undefined) return;
  if (model.adapter.type === "lora") checkTargets(shape, model.adapter.targets);
  const lengths = { prompt: exactly(1), completion: exactly(1), turns: 1 };
  const run = engineRun(config, { shape, workload: planWorkload({ config, lengths, ...options }) });
  const memory = machineMemory();
  const needed = engineMemory({ ...run, memory }).at(-1)!.low;
  if (needed <= memory) return;
  const what = stage === undefined ? "this training" : `the stage "${stage}"`;
  const changes = engineChanges({ ...run, rates: { memory } });
  throw new LyceumError({
    code: "backend.unsupported",
    message: `There is not enough memory for ${what}: it needs ${formatBytes(needed)} or more, but the machine has ${formatBytes(memory)}.`,
    hint: `Try ${changes.join(", or ")}. lyceum plan estimates the memory of a config.`,
    data: { needed, memory },
  });
}
