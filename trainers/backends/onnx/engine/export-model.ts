import { join, relative, resolve } from "node:path";
import { LyceumError } from "../../../../src/contract/errors/index.ts";
import type { ExportDtype, ExportFormat } from "../../../backend/training-backend.ts";
import { writeHuggingFaceFolder, writeTokenizerFiles } from "../../../model-folders/hugging-face-folder.ts";
import { writeAdapterBase } from "../../../model-folders/weights/adapter-base-file.ts";
import type { WritableDtype } from "../../../model-folders/weights/float-conversion.ts";
import { type PeftAdapterConfig, writePeftAdapter } from "../../../model-folders/weights/peft-adapter.ts";
import type { TensorToWrite } from "../../../model-folders/weights/safetensors-writer.ts";
import { valueHeadFile } from "../../../model-folders/weights/value-head-file.ts";
import type { LocalSource } from "../../shared/open-source.ts";
import { type TokenizerSource, tokenizerFilesOf } from "../../shared/tokenizer-source.ts";
import type { BaseBlock } from "../models/graph-parameters.ts";
import { isValueHeadParameter } from "../models/value-head.ts";
import { baseHash } from "./base-hash.ts";
import { mergedParameter } from "./merge-adapter.ts";
import { storedForm, storedShape } from "./stored-form.ts";
import type { ModelWeights } from "./weights.ts";

/** The settings of an adapter in a PEFT config. */
export type AdapterForm = Pick<PeftAdapterConfig, "rank" | "alpha" | "targets" | "dropout">;

/** The options of an export. */
export interface ExportOptions {
  readonly weights: ModelWeights;
  readonly source: LocalSource;
  readonly tokenizer: TokenizerSource;
  /** The model's adapter. Undefined in a full model. */
  readonly lora: AdapterForm | undefined;
  readonly folder: string;
  readonly format: ExportFormat;
  /**
   * The type of the weights of a whole model. An adapter, and a base in its folder, are exported as float32 to keep
   * full precision.
   */
  readonly dtype: WritableDtype;
}

/**
 * Writes a new Hugging Face folder (with the adapter merged into its base) or a new PEFT adapter folder. A value head
 * is in neither format, so it is written to {@link valueHeadFile} in the same folder.
 */
export async function exportModel(options: ExportOptions): Promise<void> {
  await (options.format === "peft" ? exportAdapter(options) : exportFolder(options));
}

/** The names of the weight types in configs. */
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

/** Returns the type of the weights under the config's own keys. Older configs use `torch_dtype`. */
function dtypeKeys(source: Readonly<Record<string, unknown>>, dtype: WritableDtype): Record<string, ExportDtype> {
  const keys = ["dtype", "torch_dtype"].filter((key) => key in source);
  return Object.fromEntries((keys.length === 0 ? ["dtype"] : keys).map((key) => [key, dtypeNames[dtype]]));
}

async function exportAdapter({ weights, source, tokenizer, lora, folder }: ExportOptions): Promise<void> {
  if (lora === undefined || weights.adapter === undefined) {
    throw new LyceumError({
      code: "backend.unsupported",
      message: "Only a model with an adapter can be exported as a PEFT adapter.",
      hint: 'Export this model in the format "huggingface".',
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
    tensors: tensorsOf(block, (name) => !isValueHeadParameter(name)),
    valueHead: valueHeadTensors(block),
    writeExtraFiles: async (partial) => {
      const path = isFile && source.hub === undefined ? { path: resolve(source.folder) } : {};
      await writeAdapterBase(partial, { ...path, hash: baseHash(weights.base) });
      // The run's own template belongs to the adapter. The base has another template, or does not have one.
      if (tokenizer?.chatTemplates !== undefined) await writeTokenizerFiles(partial, await tokenizerFilesOf(tokenizer));
      // A base without files: random weights, or a model with a merged adapter.
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

/** The folder of an exported base, within the adapter's folder. */
const baseFolder = "base";

/**
 * Returns the base's name for the adapter's config: the hub id and commit, or else the path relative to the adapter's
 * folder.
 */
function nameOfBase(
  { hub, folder: base }: Extract<LocalSource, { readonly type: "folder" }>,
  adapter: string,
): Pick<PeftAdapterConfig, "baseModel" | "baseRevision"> {
  if (hub !== undefined) return { baseModel: hub.id, baseRevision: hub.revision };
  return { baseModel: relative(resolve(adapter), resolve(base)).replaceAll("\\", "/") };
}

function valueHeadTensors(block: BaseBlock): TensorToWrite[] {
  return tensorsOf(block, isValueHeadParameter);
}

function tensorsOf(block: BaseBlock, isWanted: (name: string) => boolean): TensorToWrite[] {
  return block.specs
    .filter(({ name }) => isWanted(name))
    .map(({ name, shape }) => ({ name, shape, data: block.read(name) }));
}
