import type { DecoderConfig } from "./decoder-config.ts";
import type { LinearGroup } from "./linear-groups.ts";

/** A weight array, with its name in a Hugging Face checkpoint. */
export interface ParameterSpec {
  readonly name: string;
  readonly shape: readonly number[];
  /** The initial values of a model that is created from scratch. */
  readonly initial: "normal" | "ones" | "zeros";
  /** True if checkpoints store this matrix transposed. */
  readonly transposed?: boolean;
}

/** Returns the checkpoint name of a module of one block. */
export function moduleName({ architecture }: DecoderConfig, layer: number, name: string): string {
  return `${architecture.body}.${architecture.blocks}.${layer}.${name}`;
}

export function embeddingName({ architecture }: DecoderConfig): string {
  return `${architecture.body}.${architecture.embedding}.weight`;
}

/** Returns the name of the table of learned positions. Undefined if positions are rotary. */
export function positionEmbeddingName({ architecture }: DecoderConfig): string | undefined {
  const { body, positionEmbedding } = architecture;
  return positionEmbedding === undefined ? undefined : `${body}.${positionEmbedding}.weight`;
}

/** Returns the name of the norm after the last block. */
export function finalNormName({ architecture }: DecoderConfig): string {
  return `${architecture.body}.${architecture.finalNorm}`;
}

/** Returns the name of the matrix that produces logits. It is the embedding if the two are tied. */
export function headName(config: DecoderConfig): string {
  return config.tiedEmbeddings ? embeddingName(config) : "lm_head.weight";
}

/** Lists all parameters of a decoder, in storage order. */
export function decoderParameters(config: DecoderConfig): ParameterSpec[] {
  const { architecture, hiddenSize, vocabularySize, headSize, maxPositions, linear } = config;
  const { attention, mlp } = architecture;
  const specs: ParameterSpec[] = [
    { name: embeddingName(config), shape: [vocabularySize, hiddenSize], initial: "normal" },
  ];
  const positions = positionEmbeddingName(config);
  if (positions !== undefined) specs.push({ name: positions, shape: [maxPositions, hiddenSize], initial: "normal" });
  // With an offset, the weights start at zero.
  const whole = architecture.norm === "rms-offset" ? "zeros" : "ones";
  const norm = (module: string): void => {
    specs.push({ name: `${module}.weight`, shape: [hiddenSize], initial: whole });
    if (architecture.norm === "layer") specs.push({ name: `${module}.bias`, shape: [hiddenSize], initial: "zeros" });
  };
  for (let layer = 0; layer < config.layers; layer++) {
    const module = (name: string): string => moduleName(config, layer, name);
    const group = ({ layers, bias }: LinearGroup): void => {
      for (const { name, inputs, outputs } of layers) {
        const stored = architecture.transposed ? { transposed: true } : {};
        specs.push({ name: `${module(name)}.weight`, shape: [outputs, inputs], initial: "normal", ...stored });
      }
      if (!bias) return;
      for (const { name, outputs } of layers) {
        specs.push({ name: `${module(name)}.bias`, shape: [outputs], initial: "zeros" });
      }
    };
    norm(module(attention.norm));
    group(linear.attentionInputs);
    for (const name of Object.values(attention.headNorms ?? {})) {
      specs.push({ name: `${module(name)}.weight`, shape: [headSize], initial: whole });
    }
    group(linear.attentionOutput);
    if (attention.outputNorm !== undefined) norm(module(attention.outputNorm));
    norm(module(mlp.norm));
    group(linear.mlpInputs);
    group(linear.mlpOutput);
    if (mlp.outputNorm !== undefined) norm(module(mlp.outputNorm));
  }
  norm(finalNormName(config));
  if (!config.tiedEmbeddings)
    specs.push({ name: headName(config), shape: [vocabularySize, hiddenSize], initial: "normal" });
  return specs;
}
