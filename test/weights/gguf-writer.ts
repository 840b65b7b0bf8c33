/** A value of the metadata. Whole numbers are written as uint32, others as float32. */
export type GgufMetadata = Readonly<Record<string, number | boolean | string | readonly (number | string)[]>>;

/** A tensor to write. The shape is that of GGUF: columns first. */
export interface GgufTensorToWrite {
  readonly shape: readonly number[];
  readonly type?: number;
  readonly data: Uint8Array;
}

/** Returns the bytes of a GGUF file, independently of the reader under test. */
export function ggufBytes(
  metadata: GgufMetadata,
  tensors: Readonly<Record<string, GgufTensorToWrite>>,
  { version = 3, alignment = 32 }: { readonly version?: number; readonly alignment?: number } = {},
): Buffer {
  const padded = (data: Uint8Array): Buffer => Buffer.concat([data, Buffer.alloc(-data.length & (alignment - 1))]);
  let offset = 0;
  const infos = Object.entries(tensors).map(([name, { shape, type = 0, data }]) => {
    const place = uint64(offset);
    offset += padded(data).length;
    return Buffer.concat([text(name), uint32(shape.length), ...shape.map(uint64), uint32(type), place]);
  });
  const header = Buffer.concat([
    Buffer.from("GGUF"),
    uint32(version),
    uint64(infos.length),
    uint64(Object.keys(metadata).length),
    ...Object.entries(metadata).flatMap(([key, value]) => [text(key), typed(value)]),
    ...infos,
  ]);
  return Buffer.concat([padded(header), ...Object.values(tensors).map(({ data }) => padded(data))]);
}

/** The bytes of float32 values. */
export function floatBytes(values: Iterable<number>): Uint8Array {
  return new Uint8Array(Float32Array.from(values).buffer);
}

const numbers = { uint32: 4, float: 6, flag: 7, text: 8, list: 9 } as const;

function typed(value: GgufMetadata[string]): Buffer {
  const type = typeOf(typeof value === "object" ? value : [value]);
  if (typeof value !== "object") return Buffer.concat([uint32(type), scalar(value, type)]);
  const elements = value.map((element) => scalar(element, type));
  return Buffer.concat([uint32(numbers.list), uint32(type), uint64(value.length), ...elements]);
}

/** One type for all values of a list. */
function typeOf(values: readonly (number | boolean | string)[]): number {
  if (typeof values[0] === "string") return numbers.text;
  if (typeof values[0] === "boolean") return numbers.flag;
  return values.every(Number.isInteger) ? numbers.uint32 : numbers.float;
}

function scalar(value: number | boolean | string, type: number): Buffer {
  if (typeof value === "string") return text(value);
  if (typeof value === "boolean") return Buffer.from([value ? 1 : 0]);
  return type === numbers.uint32 ? uint32(value) : Buffer.from(floatBytes([value]));
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint64(bytes.length), bytes]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

/** Tensors by name. */
export type GgufTensors = Readonly<Record<string, GgufTensorToWrite>>;

/** The sizes of the tiny model. */
export const [width, unit, heads, headSize] = [8, 12, 2, 4] as const;
/** The tokens of the tiny model. */
export const letters = ["a", "b", "ab", "\ufeff", "<s>", "</s>", "<tool>", "[PAD7]"];

/** The metadata of a tiny Llama. */
export const tinyMetadata: GgufMetadata = {
  "general.architecture": "llama",
  "llama.block_count": 1,
  "llama.context_length": 64,
  "llama.embedding_length": width,
  "llama.feed_forward_length": unit,
  "llama.attention.head_count": heads,
  "llama.attention.head_count_kv": 1,
  "llama.attention.layer_norm_rms_epsilon": 9.999999974752427e-7,
  "llama.rope.freq_base": 10_000,
  "tokenizer.ggml.model": "gpt2",
  "tokenizer.ggml.pre": "llama-bpe",
  "tokenizer.ggml.tokens": letters,
  "tokenizer.ggml.token_type": [1, 1, 1, 4, 3, 3, 4, 5],
  "tokenizer.ggml.merges": ["a b"],
  "tokenizer.ggml.bos_token_id": 4,
  "tokenizer.ggml.eos_token_id": 5,
  "tokenizer.ggml.eot_token_id": 6,
  "tokenizer.chat_template": "{{ bos_token }}{{ messages[0].content }}",
  "tokenizer.chat_template.tool_use": "{{ 'tools' }}",
};

/** A tensor of counting numbers. */
export const counting = (...shape: readonly number[]): GgufTensorToWrite => ({
  shape,
  data: floatBytes(Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => i)),
});

/** The tensors of the tiny Llama. */
export const tinyTensors: GgufTensors = {
  "token_embd.weight": counting(width, letters.length),
  "output_norm.weight": counting(width),
  "blk.0.attn_norm.weight": counting(width),
  "blk.0.attn_q.weight": counting(width, heads * headSize),
  "blk.0.attn_k.weight": counting(width, headSize),
  "blk.0.attn_v.weight": counting(width, headSize),
  "blk.0.attn_output.weight": counting(heads * headSize, width),
  "blk.0.ffn_norm.weight": counting(width),
  "blk.0.ffn_gate.weight": counting(width, unit),
  "blk.0.ffn_up.weight": counting(width, unit),
  "blk.0.ffn_down.weight": counting(unit, width),
};

/** The bytes of a whole tiny Llama. */
export function tinyGguf(): Buffer {
  return ggufBytes(tinyMetadata, tinyTensors);
}
