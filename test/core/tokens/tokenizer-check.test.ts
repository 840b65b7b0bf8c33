import { describe, expect, it } from "vitest";
import { loadTokenizer } from "../../../src/core/tokens/huggingface-tokenizer.ts";
import { byteLevelBpe, temporaryFolder } from "./model-folder.ts";

interface Definition {
  added_tokens: { id: unknown; content: unknown; special: boolean }[];
  model: { vocab: Record<string, unknown>; merges: unknown; [key: string]: unknown };
}

const good = (): Definition =>
  structuredClone(byteLevelBpe({ merges: [["l", "o"]], specialTokens: ["<|eot|>"] })) as unknown as Definition;

async function load(definition: unknown): Promise<void> {
  await using folder = await temporaryFolder({ "tokenizer.json": definition });
  await loadTokenizer(folder.path);
}

describe("an invalid tokenizer.json", () => {
  const cases: Record<string, readonly [spoil: (definition: Definition) => void, words: string]> = {
    "an id of 1e9": [({ model }) => (model.vocab.zz = 1e9), 'the id of token "zz" is 1000000000'],
    "an added id of 1e9": [({ added_tokens: [token] }) => (token!.id = 1e9), "ids must be below 10000000"],
    "a negative id": [({ model }) => (model.vocab.zz = -5), 'the id of token "zz" is -5'],
    "a negative added id": [({ added_tokens: [token] }) => (token!.id = -1), "is -1"],
    "an id with a fraction": [({ model }) => (model.vocab.zz = 5.5), 'the id of token "zz" is 5.5'],
    "an id that is a text": [({ model }) => (model.vocab.zz = "5"), 'the id of token "zz" is "5"'],
    "no id": [({ model }) => (model.vocab.zz = null), 'the id of token "zz" is null'],
    "two tokens of one id": [({ model }) => (model.vocab.zz = 65), 'the tokens "A" and "zz" have the same id, 65'],
    "an added token with the id of another": [
      ({ added_tokens: [token] }) => (token!.id = 65),
      'the tokens "A" and "<|eot|>" have the same id, 65',
    ],
    "an added token with two ids": [
      ({ added_tokens: [token] }) => (token!.content = "A"),
      'the token "A" has the ids 65 and 257',
    ],
    "an added token without a text": [
      ({ added_tokens: [token] }) => (token!.content = 7),
      "an added token has no content",
    ],
    "no vocabulary": [({ model }) => (model.vocab = 3 as never), "its model has no vocabulary"],
    "a merge of one token": [({ model }) => (model.merges = ["lo"]), 'merge 0 is not two tokens: "lo"'],
    "a merge of three tokens": [({ model }) => (model.merges = [["l", "o", "w"]]), "merge 0 is not two tokens"],
    "a merge of numbers": [({ model }) => (model.merges = [1, 2]), "merge 0 is not two tokens: 1"],
    "merges that are a text": [({ model }) => (model.merges = "l o"), "its merges are not a list"],
    "a merge into an unknown token": [
      ({ model }) => (model.merges = ["l o", "o w"]),
      'merge 1, of "o" and "w", needs the token "ow"',
    ],
    "a merge of an unknown token": [
      ({ model }) => (model.merges = [["lo", "zz"]]),
      'merge 0, of "lo" and "zz", needs the token "zz"',
    ],
    "a list with a token without a score": [
      ({ model }) => Object.assign(model, { type: "Unigram", unk_id: 0, vocab: [["<unk>", 0], ["a"]] }),
      "entry 1 of its vocabulary is not a token and a score",
    ],
  };

  it.each(Object.keys(cases))("%s", async (name) => {
    const [spoil, words] = cases[name]!;
    const definition = good();
    spoil(definition);
    await expect(load(definition)).rejects.toMatchObject({
      code: "model.malformed",
      message: expect.stringContaining(words),
      hint: expect.stringMatching(/\w+ \w+/),
    });
  });

  it("is distinguished from a valid one, in both forms of merges", async () => {
    const definition = good();
    await load(definition);
    definition.model.merges = ["#version: 0.2", "l o"];
    await load(definition);
    definition.added_tokens.push({ id: 65, content: "A", special: false });
    await load(definition);
  });
});
