import { LyceumError } from "../../../../src/errors/index.ts";
import { type RopeScaling, readRopeSettings } from "./rope-settings.ts";

/** The shape of a decoder-only model of the Llama kind, read from a Hugging Face `config.json`. */
export interface DecoderConfig {
  readonly family: DecoderFamily;
  readonly vocabularySize: number;
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly headSize: number;
  readonly intermediateSize: number;
  readonly maxPositions: number;
  readonly normEpsilon: number;
  readonly ropeTheta: number;
  readonly ropeScaling: RopeScaling | undefined;
  /** Per layer: whether rotary positions are applied (SmolLM3 leaves some layers without). */
  readonly ropeLayers: readonly boolean[];
  /** The output head is the embedding matrix. */
  readonly tiedEmbeddings: boolean;
  readonly queryKeyValueBias: boolean;
  readonly outputBias: boolean;
  readonly mlpBias: boolean;
  /** Norms on queries and keys (Qwen3). */
  readonly queryKeyNorm: boolean;
  /** Standard deviation of random initial weights. */
  readonly initializerRange: number;
  /** The JSON it was read from, for export. */
  readonly source: Readonly<Record<string, unknown>>;
}

/** The values of `model_type` that the engine builds. */
export type DecoderFamily = "llama" | "qwen2" | "qwen3" | "smollm3";

const families: readonly DecoderFamily[] = ["llama", "qwen2", "qwen3", "smollm3"];

/** Reads and checks a `config.json`. Throws `model.unsupported` for what the engine cannot build exactly. */
export function readDecoderConfig(source: Readonly<Record<string, unknown>>): DecoderConfig {
  const family = readFamily(source.model_type);
  const fields = new ConfigFields(source);
  const heads = fields.size("num_attention_heads");
  const keyValueHeads = fields.size("num_key_value_heads", heads);
  const hiddenSize = fields.size("hidden_size");
  const layers = fields.size("num_hidden_layers");
  const headSize = fields.size("head_dim", hiddenSize / heads);
  if (heads % keyValueHeads !== 0) {
    throw malformed(`num_attention_heads (${heads}) is not a multiple of num_key_value_heads (${keyValueHeads})`);
  }
  if (headSize % 2 !== 0) throw malformed(`head_dim (${headSize}) is odd; rotary positions need pairs`);
  refuseUnsupported(source);
  const attentionBias = source.attention_bias === true;
  return {
    family,
    vocabularySize: fields.size("vocab_size"),
    hiddenSize,
    layers,
    heads,
    keyValueHeads,
    headSize,
    intermediateSize: fields.size("intermediate_size"),
    maxPositions: fields.size("max_position_embeddings", 2048),
    normEpsilon: fields.number("rms_norm_eps", 1e-6),
    ...readRopeSettings(source),
    ropeLayers: readRopeLayers(source, layers),
    tiedEmbeddings: (source.tie_word_embeddings ?? family === "smollm3") === true,
    queryKeyValueBias: family === "qwen2" || attentionBias,
    outputBias: attentionBias,
    mlpBias: source.mlp_bias === true,
    queryKeyNorm: family === "qwen3",
    initializerRange: fields.number("initializer_range", 0.02),
    source,
  };
}

function readFamily(value: unknown): DecoderFamily {
  const family = families.find((name) => name === value);
  if (family !== undefined) return family;
  throw new LyceumError({
    code: "model.unsupported",
    message: `The model's architecture, model_type "${String(value)}" in its config.json, is not one that is built here.`,
    hint: `Choose a checkpoint of one of these: ${families.join(", ")} (SmolLM and SmolLM2 are llama).`,
    data: { modelType: String(value), known: [...families] },
  });
}

function readRopeLayers(source: Readonly<Record<string, unknown>>, layers: number): boolean[] {
  const given = source.no_rope_layers;
  // The key's name misleads: its entries are 1 where rotary positions are applied.
  if (Array.isArray(given) && given.length === layers) return given.map((entry) => entry === 1 || entry === true);
  const interval = source.model_type === "smollm3" ? Number(source.no_rope_layer_interval ?? 4) : 0;
  return Array.from({ length: layers }, (_, layer) => interval === 0 || (layer + 1) % interval !== 0);
}

function refuseUnsupported(source: Readonly<Record<string, unknown>>): void {
  const activation = source.hidden_act ?? "silu";
  if (activation !== "silu") throw unsupported(`hidden_act "${String(activation)}"`, 'only "silu" is built');
  if (source.use_sliding_window === true)
    throw unsupported("use_sliding_window", "attention is over the whole context");
  const layerTypes = source.layer_types;
  if (Array.isArray(layerTypes) && layerTypes.some((type) => type !== "full_attention")) {
    throw unsupported("layer_types", 'only "full_attention" is built');
  }
  if ((source.quantization_config ?? undefined) !== undefined) {
    throw unsupported("quantization_config", "use a checkpoint in float32, float16 or bfloat16");
  }
}

/** Reads positive numbers by key, with errors that name the key. */
class ConfigFields {
  readonly #source: Readonly<Record<string, unknown>>;

  constructor(source: Readonly<Record<string, unknown>>) {
    this.#source = source;
  }

  size(key: string, fallback?: number): number {
    const value = this.number(key, fallback);
    if (!Number.isInteger(value)) throw malformed(`${key} must be a whole number, it is ${value}`);
    return value;
  }

  number(key: string, fallback?: number): number {
    const value = this.#source[key] ?? fallback;
    if (value === undefined) throw malformed(`${key} is missing`);
    if (typeof value !== "number" || !(value > 0))
      throw malformed(`${key} must be a positive number, it is ${String(value)}`);
    return value;
  }
}

function malformed(what: string): LyceumError {
  return new LyceumError({
    code: "model.malformed",
    message: `The model's config.json cannot be used: ${what}.`,
    hint: "Compare it with the config.json that the model was published with.",
  });
}

function unsupported(what: string, why: string): LyceumError {
  return new LyceumError({
    code: "model.unsupported",
    message: `The model's config.json sets ${what}, which the embedded engine does not build: ${why}.`,
    hint: "Choose another checkpoint, or train this one on a remote backend.",
  });
}
