import { describe, expect, it } from "vitest";
import { textMessage } from "../../../src/contract/message.ts";
import { loadTokenizer } from "../../../src/core/tokens/huggingface-tokenizer.ts";
import { createTextRenderer } from "../../../src/core/tokens/text-renderer.ts";
import { byteLevelBpe, sentencePieceBpe, temporaryFolder } from "./model-folder.ts";

const chatSpecials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
const merges = [
  ["l", "o"],
  ["lo", "w"],
  ["e", "r"],
] as const;

const template = (...names: readonly string[]) => ({
  type: "TemplateProcessing",
  single: names.map((name) =>
    name === "A" ? { Sequence: { id: "A", type_id: 0 } } : { SpecialToken: { id: name, type_id: 0 } },
  ),
  pair: [],
  special_tokens: {},
});
const bytes = { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true };

describe("the ids in front of a text", () => {
  // As `tokenizer("a").input_ids` of transformers begins.
  it.each([
    ["no post-processor", null, {}, []],
    ["a byte-level one", bytes, {}, []],
    ["a template", template("<s>", "A"), {}, ["<s>"]],
    ["a template of two", template("<s>", "<x>", "A", "</s>"), {}, ["<s>", "<x>"]],
    ["a template with an end only", template("A", "</s>"), {}, []],
    ["a sequence", { type: "Sequence", processors: [bytes, template("<s>", "A")] }, {}, ["<s>"]],
    ["a template, but add_bos_token: false", template("<s>", "A"), { add_bos_token: false }, ["<s>"]],
    ["a template, but add_eos_token alone", template("<s>", "A"), { add_eos_token: true }, ["<s>"]],
    ["add_bos_token alone", null, { add_bos_token: true }, []],
    ["add_bos_token without the token", null, { add_bos_token: true, bos_token: null }, []],
  ])("are those of %s", async (_, post_processor, config, expected) => {
    const tokenizer = { ...byteLevelBpe({ specialTokens: ["<s>", "</s>", "<x>"] }), post_processor };
    const tokens = { bos_token: "<s>", eos_token: "</s>" };
    await using folder = await temporaryFolder({
      "tokenizer.json": tokenizer,
      "tokenizer_config.json": { ...tokens, ...config },
    });
    const loaded = await loadTokenizer(folder.path);
    expect((loaded.startIds ?? []).map((id) => loaded.decode([id]))).toEqual(expected);
    expect(loaded.decode(loaded.encode("a"))).toBe("a");

    const messages = [textMessage("user", "lower"), textMessage("user", "<s>")];
    const prompt = createTextRenderer(loaded).start({ messages });
    expect(prompt).toEqual([
      ...loaded.startIds!,
      ...createTextRenderer(loaded, { addSpecialTokens: false }).start({ messages }),
    ]);
  });
});

describe("Hugging Face tokenizer", () => {
  it("encodes by merges, recognizes special tokens, and adds none", async () => {
    const definition = {
      ...byteLevelBpe({ merges, specialTokens: chatSpecials }),
      post_processor: {
        type: "TemplateProcessing",
        single: [{ SpecialToken: { id: "<|im_start|>", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }],
        pair: [],
        special_tokens: { "<|im_start|>": { id: "<|im_start|>", ids: [260], tokens: ["<|im_start|>"] } },
      },
    };
    await using folder = await temporaryFolder({ "tokenizer.json": definition });
    const tokenizer = await loadTokenizer(folder.path);
    expect(tokenizer.encode("lower<|im_end|>lo")).toEqual([257, 258, 261, 256]);
    expect(tokenizer.encode("")).toEqual([]);
    expect(tokenizer.specialTokens).toEqual(chatSpecials);
    expect(tokenizer.tokenId("<|im_end|>")).toBe(261);
    expect(tokenizer.tokenId("<|absent|>")).toBeUndefined();
    expect(tokenizer.vocabularySize).toBe(262);
  });

  it("decodes exactly: no space is cleaned up, and ids beyond the vocabulary give an empty text", async () => {
    await using folder = await temporaryFolder({
      "tokenizer.json": byteLevelBpe({ merges, specialTokens: chatSpecials }),
      "tokenizer_config.json": { clean_up_tokenization_spaces: true },
    });
    const tokenizer = await loadTokenizer(folder.path);
    const text = "  a , b . it 's <|im_end|> \uFEFFx\r\n 漢😀";
    expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
    expect(tokenizer.decode([])).toBe("");
    expect(tokenizer.decode([97, 100_000, 98])).toBe("ab");
    expect(tokenizer.decode([100_000])).toBe("");
  });

  it("keeps unknown characters as bytes if the vocabulary has byte fallback", async () => {
    await using folder = await temporaryFolder({ "tokenizer.json": sentencePieceBpe() });
    const tokenizer = await loadTokenizer(folder.path);
    expect(tokenizer.decode(tokenizer.encode("ab 漢 c"))).toBe("ab 漢 c");
  });

  it.each([
    ["strings", { "tokenizer_config.json": { eos_token: "<|im_end|>", pad_token: "<|endoftext|>" } }],
    [
      "objects",
      { "tokenizer_config.json": { eos_token: { content: "<|im_end|>" }, pad_token: { content: "<|endoftext|>" } } },
    ],
    [
      "a special tokens map",
      { "special_tokens_map.json": { eos_token: { content: "<|im_end|>" }, pad_token: "<|endoftext|>" } },
    ],
    [
      "a map behind a config that says null",
      {
        "tokenizer_config.json": { eos_token: "<|im_end|>", pad_token: null },
        "special_tokens_map.json": { eos_token: "<|im_start|>", pad_token: "<|endoftext|>" },
      },
    ],
  ])("reads the names of special tokens from %s", async (_, files) => {
    await using folder = await temporaryFolder({
      "tokenizer.json": byteLevelBpe({ specialTokens: chatSpecials }),
      ...files,
    });
    const tokenizer = await loadTokenizer(folder.path);
    expect(tokenizer.eosToken).toBe("<|im_end|>");
    expect(tokenizer.padToken).toBe("<|endoftext|>");
    expect(tokenizer.bosToken).toBeUndefined();
  });

  it("names the missing file and how to create it", async () => {
    await using folder = await temporaryFolder({});
    await expect(loadTokenizer(folder.path)).rejects.toMatchObject({
      code: "model.missing",
      message: expect.stringContaining("tokenizer.json"),
      hint: expect.stringContaining("save_pretrained"),
    });
    await expect(loadTokenizer(`${folder.path}/absent`)).rejects.toMatchObject({ code: "model.missing" });
  });

  it.each([
    ["text that is not JSON", { "tokenizer.json": '{"model": ' }, "tokenizer.json"],
    ["a list", { "tokenizer.json": [] }, "tokenizer.json"],
    ["no model", { "tokenizer.json": {} }, "tokenizer.json"],
    ["a model without a vocabulary", { "tokenizer.json": { model: { type: "BPE" } } }, "tokenizer.json"],
    [
      "a config that is not JSON",
      { "tokenizer.json": byteLevelBpe({}), "tokenizer_config.json": "" },
      "tokenizer_config.json",
    ],
  ])("refuses %s", async (_, files, name) => {
    await using folder = await temporaryFolder(files);
    await expect(loadTokenizer(folder.path)).rejects.toMatchObject({
      code: "model.malformed",
      message: expect.stringContaining(name),
    });
  });

  it("refuses an unknown kind of tokenizer", async () => {
    await using folder = await temporaryFolder({ "tokenizer.json": { model: { type: "Oracle", vocab: { a: 0 } } } });
    await expect(loadTokenizer(folder.path)).rejects.toMatchObject({
      code: "model.unsupported",
      message: expect.stringContaining("Oracle"),
    });
  });
});
