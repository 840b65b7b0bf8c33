import { LyceumError } from "../../../src/contract/errors/index.ts";
import { type Activation, readActivation } from "./activation.ts";
import type { Architecture } from "./architecture.ts";
import { architectures, type DecoderFamily } from "./architectures.ts";
import { type AttentionWindow, readAttentionWindow } from "./attention-window.ts";
import { ConfigFields, malformedConfig, unsupportedConfig } from "./config-fields.ts";
import { type LinearGroups, linearGroups } from "./linear-groups.ts";
import { type RopeSettings, readRopeSettings } from "./rope-settings.ts";

/** The shape of a decoder-only model, read from a Hugging Face `config.json` with the table of its family. */
export interface DecoderConfig {
  readonly family: DecoderFamily;
  readonly architecture: Architecture;
  readonly vocabularySize: number;
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly headSize: number;
  /**
   * Multiplies queries, whose products with keys are then divided by the square root of the head size. Undefined if
   * queries stay as they are.
   */
  readonly queryScale: number | undefined;
  readonly maxPositions: number;
  readonly normEpsilon: number;
  /** The linear layers of each block. */
  readonly linear: LinearGroups;
  /** The activation of the feed-forward unit. */
  readonly activation: Activation;
  /** The rotary positions. Undefined if positions are learned. */
  readonly rope: RopeSettings | undefined;
  /** Undefined if every layer attends to the whole context. */
  readonly window: AttentionWindow | undefined;
  /** True if the output head is the embedding matrix. */
  readonly tiedEmbeddings: boolean;
  /** The standard deviation of random initial weights. */
  readonly initializerRange: number;
  /** The JSON that the config was read from, for export. */
  readonly source: Readonly<Record<string, unknown>>;
}

/**
 * Several times the layers of any published model. A graph has nodes for each layer, so an absurd number is refused.
 */
const mostLayers = 1_000;

/**
 * Reads and checks a `config.json`. Throws `model.unsupported` if the engine cannot build the model exactly, and
 * `model.malformed` for invalid values.
 */
export function readDecoderConfig(source: Readonly<Record<string, unknown>>): DecoderConfig {
  const family = readFamily(source.model_type);
  const architecture: Architecture = architectures[family];
  const fields = new ConfigFields(source, architecture);
  refuseUnsupported(source, architecture);
  const heads = fields.size("num_attention_heads");
  const keyValueHeads = fields.size("num_key_value_heads", heads);
  const hiddenSize = fields.size("hidden_size");
  const layers = fields.size("num_hidden_layers");
  if (layers > mostLayers) throw malformedConfig(`it has ${layers} layers, and at most ${mostLayers} are allowed`);
  const headSize = fields.size("head_dim", hiddenSize / heads);
  if (heads % keyValueHeads !== 0) {
    throw malformedConfig(`num_attention_heads (${heads}) is not a multiple of num_key_value_heads (${keyValueHeads})`);
  }
  const rope =
    architecture.positionEmbedding === undefined
      ? readRopeSettings(source, { architecture, fields, layers })
      : undefined;
  if (rope !== undefined && headSize % 2 !== 0) {
    throw malformedConfig(`head_dim (${headSize}) is odd; rotary positions need pairs`);
  }
  const hasScalar = architecture.defaults.query_pre_attn_scalar !== undefined;
  const scalar = hasScalar ? fields.number("query_pre_attn_scalar") : headSize;
  return {
    family,
    architecture,
    vocabularySize: fields.size("vocab_size"),
    hiddenSize,
    layers,
    heads,
    keyValueHeads,
    headSize,
    queryScale: scalar === headSize ? undefined : Math.sqrt(headSize / scalar),
    maxPositions: fields.size("max_position_embeddings"),
    normEpsilon: fields.number("rms_norm_eps"),
    linear: linearGroups(architecture, fields, { hiddenSize, heads, keyValueHeads, headSize }),
    activation: readActivation(fields.text("hidden_act")),
    rope,
    window: readAttentionWindow(source, { architecture, fields, layers, rope }),
    tiedEmbeddings: fields.flag("tie_word_embeddings"),
    initializerRange: fields.number("initializer_range"),
    source,
  };
}

function readFamily(value: unknown): DecoderFamily {
  const families = Object.keys(architectures) as DecoderFamily[];
  const family = families.find((name) => name === value);
  if (family !== undefined) return family;
  throw new LyceumError({
    code: "model.unsupported",
    message: `The model's architecture, model_type "${String(value)}" in its config.json, is not supported.`,
    hint: `Use backend torch, or choose a checkpoint of one of these: ${families.join(", ")} (SmolLM and SmolLM2 are llama).`,
    data: { modelType: String(value), known: families },
  });
}

function refuseUnsupported(source: Readonly<Record<string, unknown>>, { fixed = {} }: Architecture): void {
  for (const [key, built] of Object.entries(fixed)) {
    if ((source[key] ?? built) !== built) throw unsupportedConfig(key, `only ${String(built)} is supported`);
  }
  if ((source.quantization_config ?? undefined) !== undefined) {
    throw unsupportedConfig("quantization_config", "use a checkpoint in float32, float16 or bfloat16");
  }
}
