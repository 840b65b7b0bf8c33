import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { createByteTokenizer } from "../../../src/core/tokens/byte-tokenizer.ts";
import { loadTokenizer } from "../../../src/core/tokens/huggingface-tokenizer.ts";
import { createIncrementalDecoder } from "../../../src/core/tokens/incremental-decoder.ts";
import type { Tokenizer } from "../../../src/core/tokens/tokenizer.ts";
import { byteLevelBpe, sentencePieceBpe, temporaryFolder } from "./model-folder.ts";

const tokenizers: Record<string, Tokenizer> = { bytes: createByteTokenizer() };

beforeAll(async () => {
  // Merges that split characters: a lead byte with the byte before it, the tail of an emoji with a space.
  const merges = [
    ["a", "\\xf0"],
    ["\\x98", "\\x80"],
    ["\\x98\\x80", " "],
    ["\\xe6", "\\xbc"],
  ] as const;
  await using byteLevel = await temporaryFolder({
    "tokenizer.json": byteLevelBpe({ merges, specialTokens: ["<|im_end|>"] }),
  });
  await using sentencePiece = await temporaryFolder({ "tokenizer.json": sentencePieceBpe() });
  tokenizers.byteLevel = await loadTokenizer(byteLevel.path);
  tokenizers.sentencePiece = await loadTokenizer(sentencePiece.path);
});

describe.each(["bytes", "byteLevel", "sentencePiece"])("incremental decoder over %s", (name) => {
  const stream = (ids: readonly number[]): string[] => {
    const decoder = createIncrementalDecoder(tokenizers[name]!);
    return [...ids.map((id) => decoder.push(id)), decoder.flush()];
  };

  it("gives the text of decoding all ids at once, for any ids", () => {
    const tokenizer = tokenizers[name]!;
    // Bytes at the edges of UTF-8 are drawn more often, so that there are long runs of invalid sequences.
    const id = fc.oneof(
      fc.nat({ max: tokenizer.vocabularySize - 1 }),
      fc
        .constantFrom(0x80, 0xbf, 0xc2, 0xe0, 0xe2, 0xed, 0xf0, 0xf4, 0xff, 0x98, 0x9f)
        .map((byte) => (name === "sentencePiece" ? byte + 3 : name === "bytes" ? byte : byteLevelId(tokenizer, byte))),
    );
    fc.assert(
      fc.property(fc.array(id, { maxLength: 40 }), (ids) => {
        expect(stream(ids).join("")).toBe(tokenizer.decode(ids));
      }),
      { numRuns: 3000 },
    );
  });

  it("peeks at the text of any id without adding it", () => {
    const tokenizer = tokenizers[name]!;
    const ids = fc.array(fc.nat({ max: tokenizer.vocabularySize - 1 }), { maxLength: 12 });
    fc.assert(
      fc.property(ids, fc.nat({ max: tokenizer.vocabularySize - 1 }), (ids, other) => {
        const [peeking, pushing] = [tokenizer, tokenizer].map(createIncrementalDecoder);
        for (const id of ids) {
          peeking!.peek(other);
          expect(peeking!.push(id)).toBe(pushing!.push(id));
        }
        expect(peeking!.peek(other)).toBe(pushing!.push(other));
      }),
      { numRuns: 1000 },
    );
  });

  it("never shows a replacement character for a valid text", () => {
    const tokenizer = tokenizers[name]!;
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", "b", " ", "é", "漢", "😀", "👩‍🚀") }), (text) => {
        for (const piece of stream(tokenizer.encode(text))) expect(piece).not.toContain("\uFFFD");
      }),
    );
  });

  it("gives each character as soon as it is complete", () => {
    const tokenizer = tokenizers[name]!;
    const decoder = createIncrementalDecoder(tokenizer);
    let text = "";
    for (const id of tokenizer.encode("ab cab")) text += decoder.push(id);
    expect(text).toBe("ab cab");
  });

  it("decodes a short window at a time, however long a run of invalid bytes is", () => {
    const tokenizer = tokenizers[name]!;
    let longest = 0;
    const decode = (ids: readonly number[]): string => {
      longest = Math.max(longest, ids.length);
      return tokenizer.decode(ids);
    };
    const decoder = createIncrementalDecoder({ ...tokenizer, decode });
    const broken = name === "sentencePiece" ? 0x80 + 3 : 0x80;
    for (let i = 0; i < 100; i++) decoder.push(broken);
    expect(longest).toBeLessThan(12);
  });

  it("starts from the beginning after a flush", () => {
    const tokenizer = tokenizers[name]!;
    const decoder = createIncrementalDecoder(tokenizer);
    const ids = tokenizer.encode("漢");
    decoder.push(ids[0]!);
    expect(decoder.flush()).toBe(tokenizer.decode([ids[0]!]));
    expect(ids.map((id) => decoder.push(id)).join("") + decoder.flush()).toBe(tokenizer.decode(ids));
  });
});

function byteLevelId(tokenizer: Tokenizer, byte: number): number {
  // The first ids of the byte-level vocabularies in these tests are the bytes.
  return byte < tokenizer.vocabularySize ? byte : 0;
}
