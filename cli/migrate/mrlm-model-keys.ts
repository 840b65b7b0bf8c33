import type { Json } from "../../src/contract/json.ts";
import { modelSettings } from "./model-settings.ts";
import { onGpus, severalGpus, torchGpus } from "./mrlm-cluster.ts";
import { torchDtypeKey } from "./mrlm-precision.ts";
import { algorithmOf, forAlgorithms, online } from "./mrlm-run.ts";
import type { OldConfig } from "./old-config.ts";
import type { Converted, OldKey } from "./old-key.ts";

/** The keys of MRLM's `model` section. */
export const mrlmModelKeys: readonly OldKey[] = [
  {
    old: "model.model_name_or_path",
    now: "model.path",
    missing: "gpt2",
    convert: modelSettings,
    alone: true,
  },
  { old: "model.model_type", idle: ["causal_lm"], note: "Lyceum trains causal language models only" },
  { old: "model.tokenizer_name_or_path", note: "the model's own tokenizer is used" },
  { old: "model.trust_remote_code", idle: [false], note: "code in a model folder is never run" },
  torchDtypeKey,
  {
    old: "model.use_flash_attention",
    server: "trainer.flash_attn",
    note: "PyTorch chooses its attention kernels, and the embedded engine has its own",
    convert: onGpus({
      torch: () => ({}),
      skyrl: (value) => ({ server: { "trainer.flash_attn": value === true } }),
    }),
  },
  {
    old: "model.gradient_checkpointing",
    now: "backend.recompute",
    server: "trainer.gradient_checkpointing",
    note: "on the embedded engine, training.maxTokensPerMicroBatch limits the memory",
    convert: onGpus({
      torch: (value) => ({ set: { "backend.recompute": value === true } }),
      skyrl: (value) => ({ server: { "trainer.gradient_checkpointing": value === true } }),
    }),
  },
  quantized("model.load_in_8bit", 8),
  quantized("model.load_in_4bit", 4),
  {
    old: "model.use_lora",
    now: "model.adapter.type",
    idle: [false],
    convert: (value) => (value === true ? { set: { "model.adapter.type": "lora" } } : {}),
  },
  { old: "model.lora_r", now: "model.adapter.rank", missing: withLora(8), convert: lora("rank") },
  { old: "model.lora_alpha", now: "model.adapter.alpha", missing: withLora(16), convert: lora("alpha") },
  {
    old: "model.lora_dropout",
    now: "model.adapter.dropout",
    note: "only for SFT",
    missing: withLora(0.05),
    convert: lora("dropout"),
  },
  { old: "model.lora_target_modules", now: "model.adapter.targets", convert: lora("targets") },
  ...["model", "model.generation"].flatMap((section): OldKey[] => [
    {
      old: `${section}.max_new_tokens`,
      now: "sampling.maxTokens",
      convert: forAlgorithms([...online, "sft"], (value) => ({ set: { "sampling.maxTokens": value } })),
    },
    { old: `${section}.temperature`, now: "sampling.temperature", convert: sampled("temperature") },
    {
      old: `${section}.top_p`,
      now: "sampling.topP",
      ...(section === "model" ? { missing: unsaid("top_p", 0.9) } : {}),
      convert: sampled("topP"),
    },
    {
      old: `${section}.top_k`,
      now: "sampling.topK",
      ...(section === "model" ? { missing: unsaid("top_k", 50) } : {}),
      convert: sampled("topK"),
    },
    {
      old: `${section}.do_sample`,
      idle: [true],
      note: "on-policy training always samples; a low sampling.temperature is nearly greedy",
    },
    { old: `${section}.num_beams`, idle: [1], note: "completions are sampled, without beam search" },
    {
      old: `${section}.repetition_penalty`,
      idle: [1],
      note: "the trained policy would differ from the sampled one",
    },
    { old: `${section}.length_penalty`, idle: [1], note: "completions are sampled, without beam search" },
  ]),
  {
    old: "model.device",
    now: "model.device, model.deviceIndex, backend.type",
    note: "cuda trains by PyTorch, as before; with --cluster skyrl, on the embedded engine",
    missing: "auto",
    idle: ["auto"],
    convert: (value, config) => {
      const [, name, index] = /^(cpu|cuda)(?::(\d+))?$/.exec(String(value)) ?? [];
      if (name === undefined)
        return String(value) === "auto"
          ? {}
          : { lost: "the supported devices are auto, cpu, webgpu, cuda, coreml and dml" };
      const own: Record<string, Json> = { "model.device": name };
      if (torchGpus(config) !== undefined) own["backend.type"] = "torch";
      if (index === undefined) return { set: own };
      if (severalGpus(config) === undefined || config.cluster === "skyrl")
        return { set: { ...own, "model.deviceIndex": Number(index) } };
      return { set: own, ...(Number(index) === 0 ? {} : { lost: "each process has a card of its own: see gpu_ids" }) };
    },
    alone: true,
  },
  { old: "model.device_map", idle: ["auto", "cpu"], note: "see distributed.num_gpus" },
];

/** The row of a key that asks for quantized weights, which only models with an adapter have. */
function quantized(old: string, bits: 4 | 8): OldKey {
  return {
    old,
    now: "backend.quantize",
    idle: [false],
    note: "only under an adapter, with PyTorch or on the CPU",
    convert: (value, config) =>
      value === true && torchGpus(config) !== undefined
        ? { set: { "backend.quantize": bits } }
        : {
            lost: "set backend to { type: onnx, quantize } or { type: torch, quantize } if the model has an adapter (docs/training.md)",
          },
  };
}

function withLora(value: Json): (config: OldConfig) => Json | undefined {
  return (config) => (config.get("model.use_lora") === true ? value : undefined);
}

function lora(key: string): (value: Json, config: OldConfig) => Converted {
  return (value, config) => (config.get("model.use_lora") === true ? { set: { [`model.adapter.${key}`]: value } } : {});
}

function sampled(key: string): NonNullable<OldKey["convert"]> {
  return forAlgorithms([...online, "sft"], (value, config) =>
    algorithmOf(config) === "sft"
      ? {
          lost: `nothing is sampled in SFT: give it to lyceum collect${key === "temperature" ? ` --temperature ${String(value)}` : ""}`,
        }
      : { set: { [`sampling.${key}`]: value } },
  );
}

function unsaid(name: string, value: Json): (config: OldConfig) => Json | undefined {
  return (config) =>
    online.includes(algorithmOf(config)) && !config.has(`model.generation.${name}`) ? value : undefined;
}
