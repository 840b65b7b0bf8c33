import { precisionKey } from "./model-settings.ts";
import { serverGpus, skyrlEngine, torchGpus } from "./mrlm-cluster.ts";
import type { OldConfig } from "./old-config.ts";
import type { Converted, OldKey } from "./old-key.ts";

/** The reason why a precision is lost in a converted config that trains on a server of SkyRL. */
export const serverPrecision = "SkyRL computes in bfloat16, with float32 master weights";

/** SkyRL's keys for bfloat16, in training and in sampling. */
export const bfloat16Keys = [
  "trainer.policy.fsdp_config.mixed_precision.param_dtype",
  "generator.inference_engine.model_dtype",
] as const;

/** Converts a key that asks for bfloat16. The embedded engine does not have it. */
export function bfloat16(config: OldConfig): Converted {
  if (torchGpus(config) !== undefined) return { set: { "backend.precision": "bfloat16" } };
  const gpus = serverGpus(config);
  if (gpus === undefined) {
    return {
      lost: "the embedded engine trains in float32, or in float16 by model.precision; PyTorch has bfloat16: add backend: { type: torch, precision: bfloat16 } (docs/gpu.md)",
    };
  }
  const [training, sampling] = bfloat16Keys;
  // Megatron always trains in bfloat16.
  return { server: { ...(skyrlEngine(gpus) === "fsdp" ? { [training]: "bf16" } : {}), [sampling]: "bfloat16" } };
}

/** The row of `model.torch_dtype`. */
export const torchDtypeKey: OldKey = {
  old: "model.torch_dtype",
  now: "backend.precision, model.precision",
  server: bfloat16Keys.join(", "),
  idle: ["auto"],
  note: "PyTorch has all three. The embedded engine has float32, and float16 on cuda and webgpu. SkyRL trains in bfloat16",
  convert: (value, config) => {
    if (value === "bfloat16") return bfloat16(config);
    if (serverGpus(config) !== undefined) return { lost: serverPrecision };
    if (torchGpus(config) !== undefined && (value === "float32" || value === "float16")) {
      return { set: { "backend.precision": value } };
    }
    return value === "float32" ? {} : precisionKey.convert!(value, config);
  },
  alone: true,
};
