import { precisionKey } from "./model-settings.ts";
import { serverCluster } from "./mrlm-cluster.ts";
import type { OldConfig } from "./old-config.ts";
import type { Converted, OldKey } from "./old-key.ts";

/** The reason why a precision is lost in a converted config that trains on a server of SkyRL. */
export const serverPrecision = "SkyRL computes in bfloat16, with float32 master weights";

/** SkyRL's keys for bfloat16, in training and in sampling. */
export const bfloat16Keys = [
  "trainer.policy.fsdp_config.mixed_precision.param_dtype",
  "generator.inference_engine.model_dtype",
] as const;

/** Converts a key that asks for bfloat16. Only a server has it. */
export function bfloat16(config: OldConfig): Converted {
  const cluster = serverCluster(config);
  if (cluster === undefined) return { lost: "training is in float32, or in float16 by model.precision" };
  const [training, sampling] = bfloat16Keys;
  // Megatron always trains in bfloat16.
  return { server: { ...(cluster.engine === "fsdp" ? { [training]: "bf16" } : {}), [sampling]: "bfloat16" } };
}

/** The row of `model.torch_dtype`. */
export const torchDtypeKey: OldKey = {
  old: "model.torch_dtype",
  now: "model.precision",
  server: bfloat16Keys.join(", "),
  idle: ["auto"],
  note: "on this machine, float16 trains on cuda and webgpu, not on a CPU, and bfloat16 becomes float32; SkyRL trains in bfloat16",
  convert: (value, config) => {
    if (value === "bfloat16") return bfloat16(config);
    if (serverCluster(config) !== undefined) return { lost: serverPrecision };
    return value === "float32" ? {} : precisionKey.convert!(value, config);
  },
  alone: true,
};
