import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { textMessage } from "../../../src/contract/message.ts";
import { TokenPrefix } from "../../../src/contract/token-prefix.ts";
import { createByteRenderer } from "../../../src/core/tokens/byte-renderer.ts";
import { byteSpecialTokens, byteTokenizerFiles, createByteTokenizer } from "../../../src/core/tokens/byte-tokenizer.ts";
import { loadTokenizer } from "../../../src/core/tokens/huggingface-tokenizer.ts";
import { loadRenderer } from "../../../src/core/tokens/load-renderer.ts";
import { callingMessage, conversation, plainText } from "./conversations.ts";
import { byteCharacter, temporaryFolder } from "./model-folder.ts";

const tokenizer = createByteTokenizer();
const wellFormed = fc.string({ unit: "binary", maxLength: 40 });

describe("byte tokenizer", () => {
  it("gives every byte its value as id", () => {
    fc.assert(
      fc.property(wellFormed, (text) => {
        expect(tokenizer.encode(text)).toEqual([...Buffer.from(text)]);
      }),
    );
  });

  it("decodes what it encoded, byte order mark included", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.oneof(fc.constantFrom(...byteSpecialTokens, "\uFEFF"), wellFormed) }),
        (text) => {
          expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
        },
      ),
    );
  });

  it("recognizes special tokens in text and keeps every id below the vocabulary size", () => {
    expect(tokenizer.encode("a<|eot|>b<|bos|><|eot>")).toEqual([97, 257, 98, 256, ...Buffer.from("<|eot>")]);
    expect(byteSpecialTokens.map((token) => tokenizer.tokenId(token))).toEqual([256, 257, 258, 259, 260, 261, 262]);
    expect(tokenizer.vocabularySize).toBe(263);
  });

  it("knows the ids of single bytes and of no other text", () => {
    expect(tokenizer.tokenId("A")).toBe(65);
    expect(tokenizer.tokenId("é")).toBeUndefined();
    expect(tokenizer.tokenId("AB")).toBeUndefined();
    expect(tokenizer.tokenId("")).toBeUndefined();
  });

  it("decodes a split character as U+FFFD, and ids beyond the vocabulary as an empty text", () => {
    expect(tokenizer.decode([0xf0, 0x9f, 257])).toBe("\uFFFD<|eot|>");
    expect(tokenizer.decode([65, 263, 9999, 66])).toBe("AB");
  });
});

describe("exported byte tokenizer", () => {
  it("names each byte by its byte-level character", () => {
    const file = byteTokenizerFiles()["tokenizer.json"] as unknown as { model: { vocab: Record<string, number> } };
    const expected = Object.fromEntries(Array.from({ length: 256 }, (_, byte) => [byteCharacter(byte), byte]));
    expect(file.model.vocab).toEqual(expected);
  });

  it("gives the same ids and texts when loaded as a Hugging Face tokenizer", async () => {
    await using folder = await temporaryFolder(byteTokenizerFiles());
    const loaded = await loadTokenizer(folder.path);
    expect(loaded.vocabularySize).toBe(tokenizer.vocabularySize);
    expect([loaded.bosToken, loaded.eosToken, loaded.padToken]).toEqual(["<|bos|>", "<|eot|>", "<|pad|>"]);
    const mixed = fc.string({ unit: fc.oneof(fc.constantFrom(...byteSpecialTokens, " ", "\n"), wellFormed) });
    fc.assert(
      fc.property(mixed, (text) => {
        const ids = tokenizer.encode(text);
        expect(loaded.encode(text)).toEqual(ids);
        expect(loaded.decode(ids)).toBe(text);
      }),
    );
  });

  it("has a chat template that renders like the byte renderer", async () => {
    await using folder = await temporaryFolder(byteTokenizerFiles());
    const loaded = await loadRenderer(folder.path);
    const renderer = createByteRenderer();
    expect(loaded.stopTokenIds).toEqual(renderer.stopTokenIds);
    fc.assert(
      fc.property(conversation({ roles: ["system", "user", "tool", "assistant"] }), (messages) => {
        expect(loaded.start({ messages })).toEqual(renderer.start({ messages }));
      }),
    );
  });

  it("renders and parses tool calls like the byte renderer", async () => {
    await using folder = await temporaryFolder(byteTokenizerFiles());
    const loaded = await loadRenderer(folder.path);
    const renderer = createByteRenderer();
    const tools = ["look", "take"].map((name) => ({ name, description: "", parameters: {} }));
    const user = textMessage("user", "go");
    fc.assert(
      fc.property(callingMessage, plainText, (message, result) => {
        const messages = [user, message, textMessage("tool", result)];
        expect(loaded.start({ messages, tools })).toEqual(renderer.start({ messages, tools }));
        const ids = renderer.complete(message);
        expect(loaded.complete(message)).toEqual(ids);
        expect(loaded.parse({ ids, finish: "stop" })).toEqual(renderer.parse({ ids, finish: "stop" }));
        const before = [...loaded.start({ messages: [user], tools }), ...ids];
        expect(loaded.extend({ ids: TokenPrefix.empty.append(before), messages, messageCount: 2, tools })).toEqual(
          renderer.extend({ ids: TokenPrefix.empty.append(before), messages, messageCount: 2, tools }),
        );
      }),
    );
  });
});
