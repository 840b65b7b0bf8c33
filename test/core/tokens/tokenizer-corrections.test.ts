import { expect, it } from "vitest";
import { loadTokenizer } from "../../../src/core/tokens/huggingface-tokenizer.ts";
import { byteCharacter, byteLevelBpe, sentencePieceBpe, temporaryFolder } from "./model-folder.ts";

async function encode(definition: Record<string, unknown>, text: string): Promise<number[]> {
  await using folder = await temporaryFolder({ "tokenizer.json": definition });
  return (await loadTokenizer(folder.path)).encode(text);
}

it("treats U+0085 as white space and U+FEFF not, as Unicode does", async () => {
  const definition = byteLevelBpe({ merges: [[" ", " "]] });
  // The last space before a non-space belongs to it. Spaces before more white space stay together.
  expect(await encode(definition, "  \u0085")).toEqual([256, 0xc2, 0x85]);
  expect(await encode(definition, "  \ufeff")).toEqual([32, 32, 0xef, 0xbb, 0xbf]);
});

it("splits at every number, not only at decimal digits", async () => {
  const digits = { type: "Digits", individual_digits: true };
  const definition = byteLevelBpe({
    merges: [
      [" ", "\\xe2"],
      [" ", "\\xc2"],
    ],
  });
  const pre_tokenizer = { type: "Sequence", pretokenizers: [digits, definition.pre_tokenizer] };
  expect(await encode({ ...definition, pre_tokenizer }, " Ⅷ")).toEqual([32, 0xe2, 0x85, 0xa7]);
  expect(await encode({ ...definition, pre_tokenizer }, " ½")).toEqual([32, 0xc2, 0xbd]);
  expect(await encode(definition, " ½")).toEqual([257, 0xbd]);
});

it("drops bytes that the vocabulary lacks before it merges", async () => {
  const definition = byteLevelBpe({ merges: [["+", "+"]] });
  const model = definition.model as { vocab: Record<string, number> };
  delete model.vocab[byteCharacter(0x13)];
  expect(await encode(definition, "+\u0013+")).toEqual([256]);
});

it("keeps a byte order mark made of byte tokens", async () => {
  await using folder = await temporaryFolder({ "tokenizer.json": sentencePieceBpe() });
  const tokenizer = await loadTokenizer(folder.path);
  expect(tokenizer.decode(tokenizer.encode("\ufeffa"))).toBe("\ufeffa");
});
