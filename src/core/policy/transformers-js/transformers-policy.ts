import type { Policy } from "../../../contract/policy.ts";
import type { HubOptions } from "../../hub/hub.ts";
import { loadTokenizer } from "../../tokens/huggingface-tokenizer.ts";
import { loadRenderer } from "../../tokens/load-renderer.ts";
import { createTextRenderer } from "../../tokens/text-renderer.ts";
import { samplerPolicy } from "../sampler-policy.ts";
import { loadTransformers, type TransformersLibrary } from "./library.ts";
import { onnxModelFolder, onnxPrecision } from "./onnx-model-folder.ts";
import { transformersSampler } from "./transformers-sampler.ts";

/** Which model is run, and how. */
export interface TransformersOptions extends HubOptions {
  /** A hub id or a folder, with ONNX files as transformers.js takes them. */
  readonly model: string;
  /** The precision of the weights: `"fp32"` (the default), `"fp16"`, `"q8"`, `"q4"`, `"q4f16"`, ... */
  readonly dtype?: string;
  /** What runs it, as transformers.js names it; `"cpu"` by default. */
  readonly device?: string;
  /** Branch, tag or commit of a hub model; `main` by default. */
  readonly revision?: string;
  /** The model goes on with the text of its prompt, without a chat template. False by default. */
  readonly completion?: boolean;
  /** What the policy is called; the model by default. */
  readonly name?: string;
  /** The library; `@huggingface/transformers` of the project by default. */
  readonly library?: TransformersLibrary;
}

/**
 * The policy of a model in ONNX files, run by transformers.js: most model families there are. Its tokens are seen to the
 * id, with the log-probabilities of what was sampled from; the same request and seed give the same action. Prompts are
 * run one after the other: for many episodes a server or Lyceum's own engine is faster. Close it after use.
 *
 * Throws `config.invalid` where the package `@huggingface/transformers` is not installed, `model.missing` where the
 * model has no such files, and what the hub throws.
 */
export async function transformersPolicy(options: TransformersOptions): Promise<Policy> {
  const { model: name, dtype, device = "cpu", revision, completion = false, ...others } = options;
  const { library: given, name: label = name, ...hub } = others;
  const precision = onnxPrecision(dtype);
  const library = given ?? (await loadTransformers());
  const folder = await onnxModelFolder(name, {
    ...hub,
    precision,
    ...(revision === undefined ? {} : { revision }),
  });
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
