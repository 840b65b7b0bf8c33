import { writeFile } from "node:fs/promises";
import path from "node:path";
import { LyceumError } from "../../../src/contract/errors/lyceum-error.ts";
import type { JsonObject } from "../../../src/contract/json.ts";
import { malformedFile, readModelJson } from "../../../src/core/tokens/model-file.ts";
import { writeNewFolder } from "./new-folder.ts";
import { readWeights, type WeightsReader } from "./safetensors.ts";
import { type TensorToWrite, writeSafetensors } from "./safetensors-writer.ts";
import { writeValueHead } from "./value-head-file.ts";

/** The settings of a PEFT LoRA adapter. */
export interface PeftAdapterConfig {
  readonly rank: number;
  /** The update of a layer is scaled by alpha / rank. */
  readonly alpha: number;
  /**
   * Suffixes of the adapted layers' names, such as `q_proj` or `mlp.c_proj`. After reading they are last name parts,
   * sorted.
   */
  readonly targets: readonly string[];
  /**
   * True if the base stores the matrices of its linear layers as (inputs, outputs): peft's `fan_in_fan_out`. Default:
   * false.
   */
  readonly transposedBase?: boolean;
  /** The dropout rate of each adapter's inputs in training. Absent: no dropout. */
  readonly dropout?: number;
  /** The hub id or the path of the base model, if known. A path is relative to the adapter's folder. */
  readonly baseModel?: string;
  /** The branch, tag or commit of a base on the hub. */
  readonly baseRevision?: string;
}

/** A LoRA adapter read into memory. */
export interface PeftAdapter {
  readonly config: PeftAdapterConfig;
  /**
   * The tensors by name within the model: `model.layers.0.self_attn.q_proj.lora_A.weight` of shape (rank, inputs), and
   * the `lora_B` of shape (outputs, rank).
   */
  readonly tensors: ReadonlyMap<string, { readonly shape: readonly number[]; readonly data: Float32Array }>;
}

const configFile = "adapter_config.json";
const weightsFile = "adapter_model.safetensors";
const prefix = "base_model.model.";

/**
 * Reads a PEFT LoRA adapter folder. Converts rank-stabilised scaling (alpha / sqrt(rank)) to plain scaling by changing
 * alpha. Throws `model.missing`, `model.malformed`, or `model.unsupported` for options other than low-rank updates of
 * the linear layers of blocks: DoRA, biases, saved modules, ranks that differ by layer, adapters on the embedding or
 * the output head, and every key of the config that is not known to be harmless.
 */
export async function readPeftAdapter(folder: string): Promise<PeftAdapter> {
  const json = await readModelJson(folder, configFile);
  if (json === undefined) {
    throw new LyceumError({
      code: "model.missing",
      message: `${folder} has no ${configFile}.`,
      hint: "Name the folder of a PEFT adapter: adapter_config.json and adapter_model.safetensors.",
    });
  }
  const { rank, alpha, ...base } = parseConfig(path.join(folder, configFile), json);
  const file = path.join(folder, weightsFile);
  const { modules, tensors } = await readWeights(file, async (weights) => {
    const found = new Map<string, { shape: readonly number[]; data: Float32Array }>();
    const adapted = adaptedModules({ file, weights, rank });
    for (const name of weights.names) {
      found.set(name.slice(prefix.length), { shape: weights.info(name).shape, data: await weights.read(name) });
    }
    return { modules: adapted, tensors: found };
  });
  const targets = [...new Set(modules.map((module) => module.slice(module.lastIndexOf(".") + 1)))].toSorted();
  return { config: { rank, alpha, targets, ...base }, tensors };
}

/**
 * Writes a new folder that `peft` can load. `tensors` have the names of {@link PeftAdapter}. Throws
 * `checkpoint.write-failed` if the folder cannot be written completely.
 */
export async function writePeftAdapter(options: {
  readonly folder: string;
  readonly config: PeftAdapterConfig;
  readonly tensors: Iterable<TensorToWrite>;
  /** Written to the same folder: see `valueHeadFile`. */
  readonly valueHead?: readonly TensorToWrite[];
  /** Writes further files into the folder, which has a temporary name until it is complete. */
  readonly writeExtraFiles?: (folder: string) => Promise<void>;
}): Promise<void> {
  const { folder, config, tensors, valueHead = [], writeExtraFiles } = options;
  const named = [...tensors].map((tensor) => ({ ...tensor, name: prefix + tensor.name }));
  await writeNewFolder(folder, async (partial) => {
    await writeSafetensors(path.join(partial, weightsFile), named, { maximumShardBytes: Number.POSITIVE_INFINITY });
    await writeValueHead(partial, valueHead);
    await writeExtraFiles?.(partial);
    await writeFile(path.join(partial, configFile), `${JSON.stringify(toJson(config), null, 2)}\n`);
  });
}

function toJson(config: PeftAdapterConfig): JsonObject {
  return {
    peft_type: "LORA",
    task_type: "CAUSAL_LM",
    base_model_name_or_path: config.baseModel ?? null,
    revision: config.baseRevision ?? null,
    r: config.rank,
    lora_alpha: config.alpha,
    lora_dropout: config.dropout ?? 0,
    target_modules: config.targets,
    bias: "none",
    fan_in_fan_out: config.transposedBase ?? false,
    init_lora_weights: true,
    inference_mode: true,
    modules_to_save: null,
    use_dora: false,
    use_rslora: false,
  };
}

function parseConfig(file: string, json: JsonObject): Omit<PeftAdapterConfig, "targets"> {
  const unsupported = unsupportedOption(json);
  if (unsupported !== undefined) {
    throw new LyceumError({
      code: "model.unsupported",
      message: `${file}: an adapter with ${unsupported} cannot be used.`,
      hint: "Use a plain LoRA adapter, or merge this one into its base model with peft's merge_and_unload.",
    });
  }
  const { r: rank, lora_alpha: alpha, base_model_name_or_path: baseModel, revision } = json;
  if (typeof rank !== "number" || !Number.isInteger(rank) || rank < 1)
    throw malformedFile({ file, reason: '"r" is not a positive integer' });
  if (typeof alpha !== "number" || !Number.isFinite(alpha))
    throw malformedFile({ file, reason: '"lora_alpha" is not a number' });
  return {
    rank,
    alpha: json.use_rslora === true ? alpha * Math.sqrt(rank) : alpha,
    ...(json.fan_in_fan_out === true ? { transposedBase: true } : {}),
    ...(typeof baseModel === "string" && baseModel !== "" ? { baseModel } : {}),
    ...(typeof revision === "string" && revision !== "" ? { baseRevision: revision } : {}),
  };
}

/** Keys that plain LoRA reads, that select layers (the weights say which), or that only describe the adapter. */
const plainKeys: ReadonlySet<string> = new Set([
  "peft_type",
  "r",
  "lora_alpha",
  "use_rslora",
  "fan_in_fan_out",
  "base_model_name_or_path",
  "revision",
  "lora_dropout",
  "inference_mode",
  "task_type",
  "auto_mapping",
  "peft_version",
  "runtime_config",
  "target_modules",
  "exclude_modules",
  "layers_to_transform",
  "layers_pattern",
  // Read only with use_qalora, which is refused, or while an adapter is created.
  "qalora_group_size",
  "megatron_core",
  "ensure_weight_tying",
]);

/** Returns the first option that plain LoRA does not have, as written in the config. */
function unsupportedOption(json: JsonObject): string | undefined {
  const isSet = (value: unknown): boolean =>
    value !== undefined &&
    value !== null &&
    value !== false &&
    !(typeof value === "object" && Object.keys(value).length === 0);
  const show = (key: string): string => `${key} ${JSON.stringify(json[key])}`;
  if (json.peft_type !== "LORA") return show("peft_type");
  const harmless: Readonly<Record<string, readonly unknown[]>> = {
    bias: ["none"],
    // PiSSA, OLoRA, LoftQ and similar methods also change the base weights.
    init_lora_weights: [true, "gaussian"],
  };
  const found = Object.keys(json).find(
    (key) => !plainKeys.has(key) && isSet(json[key]) && !harmless[key]?.includes(json[key]),
  );
  return found === undefined ? undefined : show(found);
}

/** Returns the names of the adapted layers. Checks that each has both halves with the config's rank. */
function adaptedModules(options: {
  readonly file: string;
  readonly weights: WeightsReader;
  readonly rank: number;
}): readonly string[] {
  const { file, weights, rank } = options;
  const modules = new Set<string>();
  for (const name of weights.names) {
    refuseVocabularyAdapter(file, name);
    const match = /^base_model\.model\.(.+)\.lora_([AB])\.weight$/.exec(name);
    if (match === null) throw malformedFile({ file, reason: `"${name}" is not the name of a LoRA weight` });
    const { shape } = weights.info(name);
    if (shape.length !== 2 || shape[match[2] === "A" ? 0 : 1] !== rank) {
      throw malformedFile({ file, reason: `"${name}" has shape [${shape.join(", ")}], not of rank ${rank}` });
    }
    modules.add(match[1]!);
  }
  for (const module of modules) {
    for (const half of ["A", "B"]) {
      const name = `${prefix}${module}.lora_${half}.weight`;
      if (!weights.has(name)) throw malformedFile({ file, reason: `it lacks "${name}"` });
    }
  }
  if (modules.size === 0) throw malformedFile({ file, reason: "it contains no LoRA weights" });
  return [...modules];
}

/** Throws `model.unsupported` for an adapter on the embedding or the output head. */
function refuseVocabularyAdapter(file: string, name: string): void {
  const module = /(?:^|\.)(lm_head|embed_tokens|wte|wpe)\.(?:lora_|base_layer)/.exec(name)?.[1];
  const isEmbedding = /\.lora_embedding_[AB]$/.test(name);
  if (module === undefined && !isEmbedding) return;
  throw new LyceumError({
    code: "model.unsupported",
    message: `${file}: an adapter on ${module ?? "an embedding"} cannot be used ("${name}").`,
    hint: "Merge the adapter into its base model with peft's merge_and_unload, and use the merged model.",
    data: { file, name },
  });
}
