import { LyceumError } from "../../../../src/errors/index.ts";
import { byteTokenizerFiles } from "../../../../src/tokens/byte-tokenizer.ts";
import type { ExportFormat, TrainableSpec } from "../../../backend/training-backend.ts";
import { readTokenizerFiles, writeHuggingFaceFolder } from "../model-folder.ts";
import { loraTargets } from "../models/lora.ts";
import type { ParameterBlock } from "../models/parameter-block.ts";
import { isValueHeadParameter } from "../models/value-head.ts";
import { writePeftAdapter } from "../weights/peft-adapter.ts";
import type { TensorToWrite } from "../weights/safetensors-writer.ts";
import { valueHeadFile } from "../weights/value-head-file.ts";
import type { LocalSource } from "./base-store.ts";
import { mergedParameter } from "./merge-adapter.ts";
import type { ModelWeights } from "./weights.ts";

/** What is exported, and where to. */
export interface ExportOptions {
  readonly weights: ModelWeights;
  readonly source: LocalSource;
  readonly trainable: TrainableSpec;
  readonly folder: string;
  readonly format: ExportFormat;
}

/**
 * Writes a Hugging Face folder (an adapter is merged into its base) or a PEFT adapter folder; the folder is new. A
 * value head, which neither format knows, is written beside as {@link valueHeadFile}.
 */
export async function exportModel(options: ExportOptions): Promise<void> {
  await (options.format === "peft" ? exportAdapter(options) : exportFolder(options));
}

async function exportFolder({ weights, source, folder }: ExportOptions): Promise<void> {
  const { config, base, adapter } = weights;
  const named = base.specs.filter(({ name }) => !isValueHeadParameter(name));
  await writeHuggingFaceFolder({
    folder,
    config: { architectures: [architectures[config.family]], ...config.source, dtype: "float32" },
    tensors: named.map(({ name, shape }) => ({ name, shape, data: () => mergedParameter(weights, name) })),
    tokenizerFiles: source.type === "folder" ? await readTokenizerFiles(source.folder) : byteTokenizerFiles(),
    valueHead: valueHeadTensors(adapter?.block ?? base),
  });
}

async function exportAdapter({ weights, source, trainable, folder }: ExportOptions): Promise<void> {
  if (trainable.type !== "lora" || weights.adapter === undefined) {
    throw new LyceumError({
      code: "backend.unsupported",
      message: "Only a model with an adapter can be exported as a PEFT adapter.",
      hint: 'Export this one in the format "huggingface".',
    });
  }
  const { rank, alpha, targets, dropout } = trainable.lora;
  const { block } = weights.adapter;
  await writePeftAdapter({
    folder,
    config: {
      rank,
      alpha,
      targets: targets ?? loraTargets,
      ...(dropout === undefined ? {} : { dropout }),
      ...(source.type === "folder" ? { baseModel: source.folder } : {}),
    },
    tensors: tensorsOf(block).filter(({ name }) => !isValueHeadParameter(name)),
    valueHead: valueHeadTensors(block),
  });
}

function valueHeadTensors(block: ParameterBlock): TensorToWrite[] {
  return tensorsOf(block).filter(({ name }) => isValueHeadParameter(name));
}

function tensorsOf(block: ParameterBlock): TensorToWrite[] {
  return block.specs.map(({ name, shape }) => ({ name, shape, data: block.view(name) }));
}

const architectures = {
  llama: "LlamaForCausalLM",
  qwen2: "Qwen2ForCausalLM",
  qwen3: "Qwen3ForCausalLM",
  smollm3: "SmolLM3ForCausalLM",
} as const;
