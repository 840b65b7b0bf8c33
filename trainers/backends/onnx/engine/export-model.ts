import { join, relative, resolve } from "node:path";
import { LyceumError } from "../../../../src/contract/errors/index.ts";
import type { ExportDtype, ExportFormat } from "../../../backend/training-backend.ts";
import { writeHuggingFaceFolder, writeTokenizerFiles } from "../model-folder.ts";
import type { ParameterBlock } from "../models/parameter-block.ts";
import { isValueHeadParameter } from "../models/value-head.ts";
import { writeAdapterBase } from "../weights/adapter-base-file.ts";
import type { WritableDtype } from "../weights/float-conversion.ts";
import { type PeftAdapterConfig, writePeftAdapter } from "../weights/peft-adapter.ts";
import type { TensorToWrite } from "../weights/safetensors-writer.ts";
import { valueHeadFile } from "../weights/value-head-file.ts";
import { baseHash } from "./base-hash.ts";
import type { LocalSource } from "./base-store.ts";
import { mergedParameter } from "./merge-adapter.ts";
import { storedForm, storedShape } from "./stored-form.ts";
import { type TokenizerSource, tokenizerFilesOf } from "./tokenizer-source.ts";
import type { ModelWeights } from "./weights.ts";

/** What a PEFT config says of an adapter. */
export type AdapterForm = Pick<PeftAdapterConfig, "rank" | "alpha" | "targets" | "dropout">;

/** What is exported, and where to. */
export interface ExportOptions {
  readonly weights: ModelWeights;
  readonly source: LocalSource;
  readonly tokenizer: TokenizerSource;
  /** The model's adapter; none in a full model. */
  readonly lora: AdapterForm | undefined;
  readonly folder: string;
  readonly format: ExportFormat;
  /** Of the weights of a whole model. An adapter, and a base in its folder, are float32: nothing of them is lost. */
  readonly dtype: WritableDtype;
}

/**
 * Writes a Hugging Face folder (an adapter is merged into its base) or a PEFT adapter folder; the folder is new. A
 * value head, which neither format knows, is written beside as {@link valueHeadFile}.
 */
export async function exportModel(options: ExportOptions): Promise<void> {
  await (options.format === "peft" ? exportAdapter(options) : exportFolder(options));
}

/** The names that configs have for the types of weights. */
export const dtypeNames: Readonly<Record<WritableDtype, ExportDtype>> = {
  F32: "float32",
  F16: "float16",
  BF16: "bfloat16",
};

async function exportFolder({ weights, tokenizer, folder, dtype }: Omit<ExportOptions, "source">): Promise<void> {
  const { config, base, adapter } = weights;
  const named = base.specs.filter(({ name }) => !isValueHeadParameter(name));
  await writeHuggingFaceFolder({
    folder,
    config: { architectures: [config.architecture.className], ...config.source, ...dtypeKeys(config.source, dtype) },
    tensors: named.map((spec) => ({
      name: spec.name,
      shape: storedShape(spec),
      dtype,
      data: () => storedForm(spec, mergedParameter(weights, spec.name)).data,
    })),
    tokenizerFiles: await tokenizerFilesOf(tokenizer),
    valueHead: valueHeadTensors(adapter?.block ?? base),
  });
}

/** The type of the weights, under the keys that the config has for it: older configs have `torch_dtype`. */
function dtypeKeys(source: Readonly<Record<string, unknown>>, dtype: WritableDtype): Record<string, ExportDtype> {
  const keys = ["dtype", "torch_dtype"].filter((key) => key in source);
  return Object.fromEntries((keys.length === 0 ? ["dtype"] : keys).map((key) => [key, dtypeNames[dtype]]));
}

async function exportAdapter({ weights, source, tokenizer, lora, folder }: ExportOptions): Promise<void> {
  if (lora === undefined || weights.adapter === undefined) {
    throw new LyceumError({
      code: "backend.unsupported",
      message: "Only a model with an adapter can be exported as a PEFT adapter.",
      hint: 'Export this one in the format "huggingface".',
    });
  }
  const { block } = weights.adapter;
  const isFile = source.type === "folder" && source.adapter === undefined;
  await writePeftAdapter({
    folder,
    config: {
      ...lora,
      transposedBase: weights.config.architecture.transposed,
      ...(isFile ? nameOfBase(source, folder) : { baseModel: baseFolder }),
    },
    tensors: tensorsOf(block).filter(({ name }) => !isValueHeadParameter(name)),
    valueHead: valueHeadTensors(block),
    beside: async (partial) => {
      const path = isFile && source.hub === undefined ? { path: resolve(source.folder) } : {};
      await writeAdapterBase(partial, { ...path, hash: baseHash(weights.base) });
      // A template of the run's own belongs to the adapter: the base has another, or none.
      if (tokenizer?.chatTemplate !== undefined) await writeTokenizerFiles(partial, await tokenizerFilesOf(tokenizer));
      // A base that is in no file: random weights, or a model that an adapter was merged into.
      if (isFile) return;
      const { adapter: _, ...base } = weights;
      await exportFolder({
        weights: base,
        tokenizer,
        lora: undefined,
        folder: join(partial, baseFolder),
        format: "huggingface",
        dtype: "F32",
      });
    },
  });
}

/** The base of an adapter that has no file of its own, within the adapter's folder. */
const baseFolder = "base";

/** How an adapter's config names its base: by hub id and commit, else by the path from the adapter's folder. */
function nameOfBase(
  { hub, folder: base }: Extract<LocalSource, { readonly type: "folder" }>,
  adapter: string,
): Pick<PeftAdapterConfig, "baseModel" | "baseRevision"> {
  if (hub !== undefined) return { baseModel: hub.id, baseRevision: hub.revision };
  return { baseModel: relative(resolve(adapter), resolve(base)).replaceAll("\\", "/") };
}

function valueHeadTensors(block: ParameterBlock): TensorToWrite[] {
  return tensorsOf(block).filter(({ name }) => isValueHeadParameter(name));
}

function tensorsOf(block: ParameterBlock): TensorToWrite[] {
  return block.specs.map(({ name, shape }) => ({ name, shape, data: block.view(name) }));
}
