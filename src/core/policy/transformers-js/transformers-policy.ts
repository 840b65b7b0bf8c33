import type { Policy } from "../../../contract/policy.ts";
import type { HubOptions } from "../../hub/hub.ts";
import { loadTokenizer } from "../../tokens/huggingface-tokenizer.ts";
import { loadRenderer } from "../../tokens/load-renderer.ts";
import { createTextRenderer } from "../../tokens/text-renderer.ts";
import { samplerPolicy } from "../sampler-policy.ts";
import { loadTransformers, type TransformersLibrary } from "./library.ts";
import { onnxModelFolder, onnxPrecision } from "./onnx-model-folder.ts";
import { transformersSampler } from "./transformers-sampler.ts";

/** The options of {@link transformersPolicy}. */
export interface TransformersOptions extends HubOptions {
  /** A hub id or a folder, with ONNX files for transformers.js. */
  readonly model: string;
  /** The precision of the weights: `"fp32"` (the default), `"fp16"`, `"q8"`, `"q4"`, `"q4f16"`, ... */
  readonly dtype?: string;
  /** The device, by its name in transformers.js. Default: `"cpu"`. */
  readonly device?: string;
  /** The branch, tag or commit of a hub model. Default: `main`. */
  readonly revision?: string;
  /** True if the model continues the text of its prompt without a chat template. Default: false. */
  readonly completion?: boolean;
  /** The name of the policy. Default: the model. */
  readonly name?: string;
  /** The library. Default: the project's `@huggingface/transformers`. */
  readonly library?: TransformersLibrary;
}

/**
 * Creates the policy of a model in ONNX files, run by transformers.js, which supports most model families. It returns
 * exact token ids with the log-probabilities of the sampled distribution. The same request and seed give the same
 * action. Prompts run one after the other, so for many episodes a server or Lyceum's own engine is faster. Close it
 * after use.
 *
 * Throws `config.invalid` if the package `@huggingface/transformers` is not installed, `model.missing` if the model has
 * no such files, and the errors of the hub.
 */
export async function transformersPolicy(options: TransformersOptions): Promise<Policy> {
  const { model: name, dtype, device = "cpu", revision, completion = false, ...others } = options;
  const { library: given, name: label = name, ...hub } = others;
  const precision = onnxPrecision(dtype);
  const library = given ?? (await loadTransformers());
  const folder = await onnxModelFolder(name, { ...hub, precision, revision });
  const tokenizer = await loadTokenizer(folder);
  const renderer = completion ? createTextRenderer(tokenizer) : await loadRenderer(folder, { tokenizer });
  const model = await library.AutoModelForCausalLM.from_pretrained(folder, {
    dtype: precision,
    device,
    local_files_only: true,
  });
  const maxLength = model.config.max_position_embeddings ?? Infinity;
  const sampler = transformersSampler({ library, model, tokenizer, maxLength });
  return {
    ...samplerPolicy({ name: label, sampler: () => sampler, renderer, maxLength }),
    close: () => sampler.close(),
  };
}
