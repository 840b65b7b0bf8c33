import { warn } from "../../../src/core/text/warn.ts";
import type { Architecture } from "../architecture/architecture.ts";
import { architectures, type DecoderFamily } from "../architecture/architectures.ts";
import type { GgufFile } from "./gguf-file.ts";
import { unsupportedGguf } from "./gguf-header.ts";

/** The tensor of Llama 3 that divides the rotary frequencies. */
export const ropeFactors = "rope_freqs.weight";

/** The types of tensors that stay as they are. */
const dtypes: Readonly<Record<string, string>> = { F16: "float16", BF16: "bfloat16" };

/** Keys that repeat what other keys or tensors say. */
const harmlessKeys: readonly string[] = [
  "vocab_size",
  "attention.causal",
  "rope.scaling.finetuned",
  "rope.scaling.original_context_length",
];

/**
 * Returns the `config.json` that a GGUF file describes. Throws `model.unsupported` for another architecture or a
 * computation that `config.json` cannot express, and `model.malformed` for missing keys. Warns of keys that it does not
 * know.
 */
export async function ggufConfig(file: GgufFile): Promise<Record<string, unknown>> {
  const family = familyOf(file);
  const architecture: Architecture = architectures[family];
  const key = (name: string): string => architecture.keys?.[name] ?? name;
  const number = (name: string): number | undefined => file.number(`${family}.${name}`);
  const required = (name: string): number => file.required(`${family}.${name}`, number(name));
  const heads = required("attention.head_count");
  const hiddenSize = required("embedding_length");
  const epsilon = architecture.norm === "layer" ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon";
  const headSize = number("attention.key_length") ?? hiddenSize / heads;
  const rotary = architecture.positionEmbedding === undefined;
  checkHeads(file, { family, headSize });
  const window = number("attention.sliding_window");
  const embedding = file.required("token_embd.weight", file.tensors.get("token_embd.weight"));
  const config = {
    architectures: [architecture.className],
    model_type: family,
    dtype: dtypes[embedding.type.name] ?? "float32",
    vocab_size: embedding.shape[0],
    [key("hidden_size")]: hiddenSize,
    [key("num_hidden_layers")]: required("block_count"),
    [key("num_attention_heads")]: heads,
    num_key_value_heads: number("attention.head_count_kv") ?? heads,
    [key("intermediate_size")]: required("feed_forward_length"),
    [key("max_position_embeddings")]: required("context_length"),
    [key("rms_norm_eps")]: required(epsilon),
    [key("hidden_act")]: architecture.defaults.hidden_act,
    ...(rotary ? { head_dim: headSize, ...(await ropeKeys(file, { family, headSize })) } : {}),
    ...biasKeys(file, architecture),
    ...(window === undefined ? {} : { sliding_window: window }),
    tie_word_embeddings: !file.tensors.has("output.weight"),
    bos_token_id: file.number("tokenizer.ggml.bos_token_id"),
    eos_token_id: file.number("tokenizer.ggml.eos_token_id"),
  };
  const unread = file.unreadKeys(`${family}.`).filter((name) => !harmlessKeys.includes(name.slice(family.length + 1)));
  if (unread.length > 0) warn("Model", `The model in ${file.path} has keys that are not used: ${unread.join(", ")}.`);
  return config;
}

function familyOf(file: GgufFile): DecoderFamily {
  const name = file.required("general.architecture", file.text("general.architecture"));
  const families = Object.keys(architectures) as DecoderFamily[];
  const family = families.find((known) => known === name);
  const kind = file.text("general.type") ?? "model";
  if (family !== undefined && kind === "model") return family;
  if (kind !== "model")
    throw unsupportedGguf(file.path, `general.type "${kind}"`, "Name the GGUF file of a whole model.");
  throw unsupportedGguf(
    file.path,
    `the architecture "${name}"`,
    `Choose a model of one of these: ${families.join(", ")} (SmolLM and SmolLM2 are llama).`,
  );
}

/** Refuses heads of which only a part is rotated, and values that are not as wide as keys. */
function checkHeads(
  file: GgufFile,
  { family, headSize }: { readonly family: DecoderFamily; readonly headSize: number },
): void {
  for (const name of ["attention.value_length", "rope.dimension_count"]) {
    const width = file.number(`${family}.${name}`) ?? headSize;
    if (width === headSize) continue;
    throw unsupportedGguf(file.path, `${family}.${name} ${width} with heads of ${headSize}`, "Choose another model.");
  }
}

/** Returns the keys for the biases that a family's config turns on or off. The tensors of the first layer decide. */
function biasKeys(file: GgufFile, { attention, mlp }: Architecture): Record<string, boolean> {
  const places = [
    [attention.inputBias, "blk.0.attn_q.bias"],
    [mlp.bias, "blk.0.ffn_up.bias"],
  ] as const;
  return Object.fromEntries(
    places.flatMap(([key, tensor]) => (typeof key === "string" ? [[key, file.tensors.has(tensor)]] : [])),
  );
}

async function ropeKeys(
  file: GgufFile,
  { family, headSize }: { readonly family: DecoderFamily; readonly headSize: number },
): Promise<Record<string, unknown>> {
  const theta = file.number(`${family}.rope.freq_base`) ?? 10_000;
  const type = file.text(`${family}.rope.scaling.type`) ?? "none";
  const linear = file.number(`${family}.rope.scale_linear`);
  const factor = file.number(`${family}.rope.scaling.factor`) ?? linear;
  if (file.tensors.has(ropeFactors)) {
    if (type !== "none") throw unsupportedGguf(file.path, `rope scaling "${type}" with ${ropeFactors}`, otherModel);
    return { rope_theta: theta, ...llama3Scaling(file.path, await file.read(ropeFactors), { theta, headSize }) };
  }
  // Without a type, a factor is linear.
  const scaling = type === "none" && linear !== undefined && linear !== 1 ? "linear" : type;
  if (scaling === "none") return { rope_theta: theta };
  if (scaling === "linear") return { rope_theta: theta, rope_scaling: { rope_type: "linear", factor } };
  throw unsupportedGguf(file.path, `rope scaling "${scaling}"`, otherModel);
}

const otherModel = 'Choose a model without rope scaling, or with "linear" or that of Llama 3.';

/** The bounds of all Llama 3 models, in turns over the original context. */
const llama3 = { low_freq_factor: 1, high_freq_factor: 4 };

/**
 * Returns the scaling of Llama 3 whose factors these are: a file has only the factors that follow from it. Throws
 * `model.unsupported` for factors of another scaling.
 */
function llama3Scaling(
  file: string,
  factors: Float32Array,
  { theta, headSize }: { readonly theta: number; readonly headSize: number },
): Record<string, unknown> {
  const factor = factors.at(-1)!;
  if (factors.every((value) => value === 1)) return {};
  const { low_freq_factor: low, high_freq_factor: high } = llama3;
  const wavelength = (i: number): number => 2 * Math.PI * theta ** ((2 * i) / headSize);
  // A frequency between the bounds tells the original context.
  const between = factors.findIndex((value) => value > 1 && value < factor);
  const smoothness = (1 / factors[between]! - 1 / factor) / (1 - 1 / factor);
  const original = between === -1 ? 8192 : Math.round((low + (high - low) * smoothness) * wavelength(between));
  const isLlama3 = [...factors].every((value, i) => {
    const smooth = Math.min(1, Math.max(0, (original / wavelength(i) - low) / (high - low)));
    const expected = 1 / ((1 - smooth) / factor + smooth);
    return Math.abs(value - expected) <= 1e-4 * expected;
  });
  if (!isLlama3 || factors.length !== headSize / 2) {
    throw unsupportedGguf(file, `unknown factors in ${ropeFactors}`, otherModel);
  }
  return { rope_scaling: { rope_type: "llama3", factor, ...llama3, original_max_position_embeddings: original } };
}
