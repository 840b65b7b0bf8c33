import { readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { loadTokenizer } from "../../src/core/tokens/huggingface-tokenizer.ts";
import { loadRenderer } from "../../src/core/tokens/load-renderer.ts";
import { ggufFolder } from "../../trainers/model-folders/gguf/gguf-folder.ts";
import { parseGgufHeader } from "../../trainers/model-folders/gguf/gguf-header.ts";
import { findModel } from "../../trainers/model-folders/model-folder.ts";
import { openWeights } from "../../trainers/model-folders/weights/safetensors.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import {
  counting,
  floatBytes,
  type GgufMetadata,
  ggufBytes,
  headSize,
  letters,
  tinyMetadata as metadata,
  type GgufTensors as Tensors,
  tinyTensors as tensors,
  unit,
  width,
} from "./gguf-writer.ts";

let folder: string;

beforeEach(() => {
  folder = temporaryFolder();
  vi.stubEnv("XDG_CACHE_HOME", path.join(folder, "cache"));
});

afterEach(() => vi.unstubAllEnvs());

async function write(bytes: Uint8Array, name = "model.gguf"): Promise<string> {
  const file = path.join(folder, name);
  await writeFile(file, bytes);
  return file;
}

type Changes = Readonly<Record<string, GgufMetadata[string] | undefined>>;

/** The metadata with changes. Undefined removes a key. */
function changed(changes: Changes): GgufMetadata {
  const entries = Object.entries({ ...metadata, ...changes }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as GgufMetadata;
}

async function converted(changes: { metadata?: Changes; tensors?: Tensors } = {}): Promise<string> {
  const bytes = ggufBytes(changed(changes.metadata ?? {}), { ...tensors, ...changes.tensors });
  return ggufFolder(await write(bytes));
}

async function configOf(found: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(path.join(found, "config.json"), "utf8"));
}

describe("a GGUF file", () => {
  it("becomes a folder with config, tokenizer and templates", async () => {
    const found = await converted();
    expect(await configOf(found)).toMatchObject({
      model_type: "llama",
      vocab_size: letters.length,
      rms_norm_eps: 1e-6,
      head_dim: headSize,
      tie_word_embeddings: true,
      attention_bias: false,
    });
    const tokenizer = await loadTokenizer(found);
    expect(tokenizer.encode("ab\ufeff<tool>")).toEqual([2, 3, 6]);
    expect([tokenizer.startIds, tokenizer.specialTokens, tokenizer.addedTokens, tokenizer.vocabularySize]).toEqual([
      [4],
      ["<s>", "</s>"],
      ["\ufeff", "<tool>"],
      letters.length - 1,
    ]);
    expect(JSON.parse(await readFile(path.join(found, "generation_config.json"), "utf8"))).toEqual({
      eos_token_id: [5, 6],
    });
    expect(await readdir(path.join(found, "additional_chat_templates"))).toEqual(["tool_use.jinja"]);
    await expect(loadRenderer(found)).resolves.toBeDefined();
  });

  it("has the rows of queries and keys in halves, and all other tensors as they are", async () => {
    await using weights = await openWeights(await converted());
    const rows = async (name: string): Promise<number[]> =>
      [...(await weights.read(`model.layers.0.self_attn.${name}.weight`))].filter((_, i) => i % width === 0);
    const multiples = (...rows: number[]): number[] => rows.map((row) => row * width);
    expect(await rows("q_proj")).toEqual(multiples(0, 2, 1, 3, 4, 6, 5, 7));
    expect(await rows("k_proj")).toEqual(multiples(0, 2, 1, 3));
    expect(await rows("v_proj")).toEqual(multiples(0, 1, 2, 3));
  });

  it("keeps float16 and bfloat16", async () => {
    const half = { shape: [width], data: new Uint8Array(new Float16Array(width).fill(1.5).buffer) };
    const changed = { "output_norm.weight": { ...half, type: 1 }, "blk.0.ffn_norm.weight": { ...half, type: 30 } };
    await using weights = await openWeights(await converted({ tensors: changed }));
    expect(weights.info("model.norm.weight").dtype).toBe("F16");
    expect(weights.info("model.layers.0.post_attention_layernorm.weight").dtype).toBe("BF16");
    expect([...(await weights.read("model.norm.weight"))]).toEqual(Array(width).fill(1.5));
  });

  it("without an extension is found by its first bytes, and is written once until it changes", async () => {
    const file = await write(ggufBytes(metadata, tensors), "sha256-0123");
    const all = await Promise.all(Array.from({ length: 4 }, () => findModel(file)));
    const [first] = new Set(all.map((found) => found.folder));
    expect(new Set(all.map((found) => found.folder)).size).toBe(1);
    expect(await readdir(path.dirname(first!))).toEqual([path.basename(first!)]);
    const before = await stat(path.join(first!, "model.safetensors"));
    await findModel(file);
    expect((await stat(path.join(first!, "model.safetensors"))).mtimeMs).toBe(before.mtimeMs);
    await utimes(file, 1, 1);
    expect((await findModel(file)).folder).not.toBe(first);
  });

  it("has a small folder where weights are not needed", async () => {
    const file = await write(ggufBytes(metadata, tensors));
    const { folder: small } = await findModel(file, { weights: false });
    expect((await stat(path.join(small, "model.safetensors"))).size).toBeLessThan(100);
    const { folder: whole } = await findModel(file);
    expect(whole).not.toBe(small);
    expect((await findModel(file, { weights: false })).folder).toBe(whole);
  });

  it("can be cancelled, and leaves nothing", async () => {
    const file = await write(ggufBytes(metadata, tensors));
    await expect(findModel(file, { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
    expect(await readdir(path.join(folder, "cache/lyceum/gguf"))).toEqual([]);
  });

  it("of Llama 3 has its rope scaling from the factors", async () => {
    const theta = { "llama.rope.freq_base": 500_000_000 };
    const factors = (...values: number[]): Tensors => ({
      "rope_freqs.weight": { shape: [2], data: floatBytes(values) },
    });
    const found = await converted({ metadata: theta, tensors: factors(1, 32) });
    const bounds = { low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 8192 };
    expect((await configOf(found)).rope_scaling).toEqual({ rope_type: "llama3", factor: 32, ...bounds });
    await expect(converted({ metadata: theta, tensors: factors(3, 2) })).rejects.toMatchObject({
      code: "model.unsupported",
    });
  });

  it("of SentencePiece has merges by score", async () => {
    const tokens = ["<unk>", "<s>", "</s>", "▁", "a", "b", "ab", "▁a", "bb", "<0x63>"];
    const found = await converted({
      metadata: {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [2, 3, 3, 1, 1, 1, 1, 1, 1, 6],
        "tokenizer.ggml.scores": [0, 0, 0, -9.5, -9.5, -9.5, -1.5, -2.5, -3.5, 0],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
      },
      tensors: { "token_embd.weight": counting(width, tokens.length) },
    });
    const tokenizer = await loadTokenizer(found);
    // "ab" has a higher score than "▁a".
    expect(tokenizer.encode("ab abc")).toEqual([3, 6, 3, 6, 9]);
    expect(tokenizer.decode([3, 6, 3, 6, 9])).toBe("ab abc");
    expect(tokenizer.startIds).toEqual([1]);
  });
});

describe("a GGUF file that cannot be used is refused:", () => {
  const missing = (name: string): Tensors =>
    Object.fromEntries(Object.entries(tensors).filter(([tensor]) => tensor !== name));
  const cases: readonly (readonly [string, Changes, RegExp, code?: string, tensors?: Tensors])[] = [
    ["an architecture", { "general.architecture": "gemma3" }, /architecture "gemma3"/],
    ["no architecture", { "general.architecture": undefined }, /no general\.architecture/, "malformed"],
    ["an adapter", { "general.type": "adapter" }, /general\.type "adapter"/],
    ["one of several files", { "split.count": 3 }, /in 3 files/],
    ["a missing key", { "llama.block_count": undefined }, /no llama\.block_count/, "malformed"],
    ["a key of another type", { "llama.block_count": "1" }, /llama\.block_count is not a number/, "malformed"],
    ["heads for each layer", { "llama.attention.head_count_kv": [1, 1] }, /head_count_kv is not a number/, "malformed"],
    ["a part of a head rotated", { "llama.rope.dimension_count": 2 }, /rope\.dimension_count 2/],
    ["YaRN", { "llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": 4 }, /rope scaling "yarn"/],
    ["a pre-tokenizer", { "tokenizer.ggml.pre": "constructor" }, /pre-tokenizer "constructor"/],
    ["no pre-tokenizer", { "tokenizer.ggml.pre": undefined }, /pre-tokenizer "default"/],
    ["a tokenizer", { "tokenizer.ggml.model": "t5" }, /kind "t5"/],
    [
      "a token twice",
      { "tokenizer.ggml.tokens": ["a", "a"], "tokenizer.ggml.token_type": [1, 1] },
      /"a" twice/,
      "malformed",
    ],
    ["too few token types", { "tokenizer.ggml.token_type": [1] }, /1 token types/, "malformed"],
    ["a start token outside", { "tokenizer.ggml.bos_token_id": 99 }, /bos_token_id 99/, "malformed"],
    ["a template outside of its folder", { "tokenizer.chat_template.../x": "" }, /chat template/, "malformed"],
    ["no embedding", {}, /no token_embd\.weight/, "malformed", missing("token_embd.weight")],
    ["a missing tensor", {}, /no tensor "blk\.0\.ffn_up\.weight"/, "missing", missing("blk.0.ffn_up.weight")],
    [
      "experts",
      {},
      /tensor "blk\.0\.ffn_gate_inp\.weight"/,
      "unsupported",
      { ...tensors, "blk.0.ffn_gate_inp.weight": counting(width, 2) },
    ],
    [
      "another shape",
      {},
      /\[4, 12\].*\[12, 8\]/,
      "malformed",
      { ...tensors, "blk.0.ffn_up.weight": counting(unit, 4) },
    ],
    [
      "a type of block",
      {},
      /type IQ4_NL/,
      "unsupported",
      { ...tensors, "blk.0.ffn_up.weight": { ...counting(width, unit), type: 20 } },
    ],
    [
      "an unknown type of block",
      {},
      /unknown type 77/,
      "unsupported",
      { ...tensors, "blk.0.ffn_up.weight": { ...counting(width, unit), type: 77 } },
    ],
    [
      "rows that end within a block",
      {},
      /Q8_0 has the shape/,
      "malformed",
      { ...tensors, "blk.0.ffn_up.weight": { ...counting(width, unit), type: 8 } },
    ],
  ];

  for (const [name, changes, message, code = "unsupported", all = tensors] of cases) {
    it(name, async () => {
      await expect(findModel(await write(ggufBytes(changed(changes), all)))).rejects.toMatchObject({
        code: `model.${code}`,
        message: expect.stringMatching(message),
        hint: expect.any(String),
      });
    });
  }

  it("versions 1 and big-endian", async () => {
    for (const version of [1, 0x03000000]) {
      const file = await write(ggufBytes(metadata, tensors, { version }));
      await expect(findModel(file)).rejects.toMatchObject({ code: "model.unsupported" });
    }
  });

  it("another file", async () => {
    const file = await write(Buffer.from("PK\u0003\u0004"));
    await expect(findModel(file)).rejects.toMatchObject({
      code: "model.missing",
      message: expect.stringContaining("not a GGUF file"),
    });
  });
});

describe("the header", () => {
  const bytes = ggufBytes(metadata, tensors);
  const parse = (start: Uint8Array, fileSize: number): unknown => parseGgufHeader({ file: "f", fileSize, start });

  it("is incomplete at each place until it ends, and a file that ends there is malformed", () => {
    const data = Object.values(tensors).reduce((sum, tensor) => sum + Math.ceil(tensor.data.length / 32) * 32, 0);
    const codeOf = (length: number, fileSize: number): string | undefined => {
      try {
        return parse(bytes.subarray(0, length), fileSize) === undefined ? "incomplete" : undefined;
      } catch (error) {
        return (error as { code?: string }).code;
      }
    };
    const headerEnd = bytes.length - data;
    const lengths = Array.from({ length: headerEnd + 1 }, (_, length) => length);
    // Up to 31 bytes of padding follow the header.
    const wrong = lengths.filter(
      (length) =>
        codeOf(length, length) !== "model.malformed" ||
        (length <= headerEnd - 32 && codeOf(length, bytes.length) !== "incomplete"),
    );
    expect(wrong).toEqual([]);
    expect(codeOf(headerEnd, bytes.length)).toBeUndefined();
    expect(codeOf(bytes.length - 32, bytes.length - 32)).toBe("model.malformed");
  });

  it("with changed bytes is read or refused by a typed error", () => {
    fc.assert(
      fc.property(fc.nat(2_000), fc.nat(255), (at, value) => {
        const changed = Uint8Array.from(bytes);
        changed[at % changed.length] = value;
        try {
          parse(changed, changed.length);
        } catch (error) {
          expect(error).toMatchObject({ code: expect.stringMatching(/^model\.(malformed|unsupported)$/) });
        }
      }),
    );
  });
});
