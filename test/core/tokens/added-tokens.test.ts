import { describe, expect, it } from "vitest";
import { loadTokenizer } from "../../../src/core/tokens/huggingface-tokenizer.ts";
import { byteLevelBpe, temporaryFolder } from "./model-folder.ts";

const merges = [["l", "o"]] as const;
/** 256 bytes, one merge, and the special token 257. The next free id is 258. */
const definition = byteLevelBpe({ merges, specialTokens: ["<|end|>"] });
const flags = { lstrip: false, rstrip: false, single_word: false, normalized: false, special: false };

async function load(files: Readonly<Record<string, unknown>>) {
  await using folder = await temporaryFolder({ "tokenizer.json": definition, ...files });
  return await loadTokenizer(folder.path);
}

describe("tokens that only the other files of a folder have", () => {
  it.each<[string, Readonly<Record<string, unknown>>]>([
    [
      "added_tokens_decoder",
      { "tokenizer_config.json": { added_tokens_decoder: { 258: { ...flags, content: "<new>" } } } },
    ],
    ["a role", { "tokenizer_config.json": { pad_token: "<new>" } }],
    ["a role as an object", { "tokenizer_config.json": { eos_token: { ...flags, content: "<new>" } } }],
    ["extra_special_tokens", { "tokenizer_config.json": { extra_special_tokens: ["<new>"] } }],
    ["extra_special_tokens by name", { "tokenizer_config.json": { extra_special_tokens: { role_token: "<new>" } } }],
    ["additional_special_tokens", { "tokenizer_config.json": { additional_special_tokens: ["<new>"] } }],
    ["special_tokens_map.json", { "special_tokens_map.json": { pad_token: "<new>" } }],
    ["added_tokens.json", { "added_tokens.json": { "<new>": 258 } }],
  ])("are added: %s", async (_, files) => {
    const tokenizer = await load(files);
    expect(tokenizer.encode("a<new>b")).toEqual([97, 258, 98]);
    expect(tokenizer.decode([258])).toBe("<new>");
    expect(tokenizer.vocabularySize).toBe(259);
  });

  it("have their ids in the order of transformers: declared ids, roles, then further special tokens", async () => {
    const tokenizer = await load({
      "tokenizer_config.json": {
        extra_special_tokens: ["<c>"],
        pad_token: "<b>",
        added_tokens_decoder: { 258: { ...flags, content: "<a>" } },
      },
    });
    expect(["<a>", "<b>", "<c>"].map((token) => tokenizer.tokenId(token))).toEqual([258, 259, 260]);
    expect(tokenizer.specialTokens).toEqual(["<|end|>", "<b>", "<c>"]);
    expect(tokenizer.addedTokens).toEqual(["<a>"]);
  });

  it("keep the id of a word of the vocabulary", async () => {
    const tokenizer = await load({ "tokenizer_config.json": { extra_special_tokens: ["lo"] } });
    expect(tokenizer.encode("xlox")).toEqual([120, 256, 120]);
    expect(tokenizer.specialTokens).toContain("lo");
    expect(tokenizer.vocabularySize).toBe(258);
  });

  it("decide what a token matches if tokenizer.json has it too", async () => {
    const tokenizer = await load({
      "tokenizer_config.json": { added_tokens_decoder: { 257: { ...flags, content: "<|end|>", lstrip: true } } },
    });
    expect(tokenizer.encode("a  <|end|>")).toEqual([97, 257]);
    expect(tokenizer.specialTokens).toEqual(["<|end|>"]);
  });

  it("are refused with another id than transformers gives them", async () => {
    const config = { added_tokens_decoder: { 300: { ...flags, content: "<new>" } } };
    await expect(load({ "tokenizer_config.json": config })).rejects.toMatchObject({
      code: "model.malformed",
      message: expect.stringMatching(/<new>.*300.*258/),
    });
  });
});

it.each([
  [
    "tokenizer.json",
    { "tokenizer.json": { ...definition, added_tokens: [{ ...flags, id: 257, content: "cat", single_word: true }] } },
  ],
  [
    "tokenizer_config.json",
    { "tokenizer_config.json": { added_tokens_decoder: { 258: { ...flags, content: "cat", single_word: true } } } },
  ],
])("refuses a token of %s that matches whole words only", async (_, files) => {
  await expect(load(files)).rejects.toMatchObject({
    code: "model.unsupported",
    message: expect.stringContaining("single_word"),
  });
});
