import type { Sampler } from "../../contract/sampler.ts";
import type { Renderer } from "../tokens/renderer.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";

/** A model that completes prompts: its sampler, and the tokenizer and the renderer of its prompts and completions. */
export interface SampledModel {
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  readonly sampler: Sampler;
  /** The maximum number of tokens of prompt and completion together. */
  readonly maxLength: number;
}
