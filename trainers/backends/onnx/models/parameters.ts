import type { DecoderConfig } from "./decoder-config.ts";

/** A named array of weights, by its name in a Hugging Face checkpoint. */
export interface ParameterSpec {
  readonly name: string;
  readonly shape: readonly number[];
  /** How it is filled where a model is made from scratch. */
  readonly initial: "normal" | "ones" | "zeros";
}

/** The linear layers of a block, in the order that they are stored in: neighbours can be read as one matrix. */
export const attentionInputs = ["q_proj", "k_proj", "v_proj"] as const;
export const mlpInputs = ["gate_proj", "up_proj"] as const;

/** The name of a linear layer's module within a checkpoint. */
export function moduleName(layer: number, projection: string): string {
  const room = projection === "q_proj" || projection === "k_proj" || projection === "v_proj" || projection === "o_proj";
  return `model.layers.${layer}.${room ? "self_attn" : "mlp"}.${projection}`;
}

/** (outputs, inputs) of a linear layer. */
export function projectionShape(config: DecoderConfig, projection: string): readonly [number, number] {
  const { hiddenSize, heads, keyValueHeads, headSize, intermediateSize } = config;
  switch (projection) {
    case "q_proj":
      return [heads * headSize, hiddenSize];
    case "k_proj":
    case "v_proj":
      return [keyValueHeads * headSize, hiddenSize];
    case "o_proj":
      return [hiddenSize, heads * headSize];
    case "gate_proj":
    case "up_proj":
      return [intermediateSize, hiddenSize];
    case "down_proj":
      return [hiddenSize, intermediateSize];
    default:
      throw new RangeError(`There is no linear layer "${projection}".`);
  }
}

export const embeddingName = "model.embed_tokens.weight";
export const finalNormName = "model.norm.weight";
export const headName = "lm_head.weight";

/** Every parameter of a decoder, in storage order. */
export function decoderParameters(config: DecoderConfig): ParameterSpec[] {
  const { hiddenSize, vocabularySize, headSize } = config;
  const specs: ParameterSpec[] = [{ name: embeddingName, shape: [vocabularySize, hiddenSize], initial: "normal" }];
  const norm = (name: string, size: number): void => {
    specs.push({ name, shape: [size], initial: "ones" });
  };
  const linear = (layer: number, projections: readonly string[], bias: boolean): void => {
    for (const projection of projections) {
      const shape = projectionShape(config, projection);
      specs.push({ name: `${moduleName(layer, projection)}.weight`, shape, initial: "normal" });
    }
    if (!bias) return;
    for (const projection of projections) {
      const [outputs] = projectionShape(config, projection);
      specs.push({ name: `${moduleName(layer, projection)}.bias`, shape: [outputs], initial: "zeros" });
    }
  };
  for (let layer = 0; layer < config.layers; layer++) {
    norm(`model.layers.${layer}.input_layernorm.weight`, hiddenSize);
    linear(layer, attentionInputs, config.queryKeyValueBias);
    if (config.queryKeyNorm) {
      norm(`model.layers.${layer}.self_attn.q_norm.weight`, headSize);
      norm(`model.layers.${layer}.self_attn.k_norm.weight`, headSize);
    }
    linear(layer, ["o_proj"], config.outputBias);
    norm(`model.layers.${layer}.post_attention_layernorm.weight`, hiddenSize);
    linear(layer, mlpInputs, config.mlpBias);
    linear(layer, ["down_proj"], config.mlpBias);
  }
  norm(finalNormName, hiddenSize);
  if (!config.tiedEmbeddings) specs.push({ name: headName, shape: [vocabularySize, hiddenSize], initial: "normal" });
  return specs;
}
