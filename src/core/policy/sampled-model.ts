import type { Sampler } from "../../contract/sampler.ts";
import type { Renderer } from "../tokens/renderer.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";

/** Weights that complete prompts, and what is needed to write the prompts and to read the completions. */
export interface SampledModel {
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  readonly sampler: Sampler;
  /** The maximum number of tokens of prompt and completion together. */
  readonly maxLength: number;
}
