import assert from "node:assert/strict";
import { type ConformanceCase, conformanceCases } from "../core/conformance-case.ts";
import { ControlTokens } from "../core/tokens/control-tokens.ts";
import type { Tokenizer } from "../core/tokens/tokenizer.ts";

const texts = ["2 + 2 = 4", "two\nlines", "a, b.  c", "naïve 漢 😀"];

/**
 * The conformance suite of a tokenizer.
 *
 * @example
 * import { tokenizerConformance } from "lyceum/testing";
 * import { createByteTokenizer } from "lyceum/tokens";
 * const cases = tokenizerConformance(() => createByteTokenizer());
 * for (const { run } of cases) await run(); // in a test file: for (const { name, run } of cases) test(name, run)
 */
export function tokenizerConformance(open: () => Tokenizer | Promise<Tokenizer>): ConformanceCase[] {
  return conformanceCases(open, {
    "decodes the ids of a text to the same text": (tokenizer) => {
      for (const text of texts) assert.equal(tokenizer.decode(tokenizer.encode(text)), text);
    },
    "encodes to ids below the vocabulary size": (tokenizer) => {
      for (const id of texts.flatMap((text) => tokenizer.encode(text))) {
        assert.ok(Number.isInteger(id) && id >= 0 && id < tokenizer.vocabularySize, `an id is ${id}`);
      }
    },
    "adds no special token": (tokenizer) => {
      assert.deepEqual(tokenizer.encode(""), []);
      assert.equal(tokenizer.decode([]), "");
    },
    "recognizes special tokens in a text, and has the ids of those that it names": (tokenizer) => {
      const { specialTokens = [], bosToken, eosToken, padToken } = tokenizer;
      for (const token of [...specialTokens, bosToken, eosToken, padToken]) {
        if (token === undefined) continue;
        const id = tokenizer.tokenId(token);
        assert.notEqual(id, undefined, `${token} has no id`);
        assert.deepEqual(tokenizer.encode(token), [id]);
        assert.equal(tokenizer.decode([id!]), token);
      }
      assert.equal(tokenizer.tokenId("<|no such token|>"), undefined);
    },
    "does not recognize control tokens that are marked as content": (tokenizer) => {
      const controlTokens = new ControlTokens(tokenizer);
      for (const token of controlTokens.tokens) {
        const marks = controlTokens.createMarks();
        const ids = tokenizer.encodeMarked(marks.mark(token), marks);
        assert.ok(!ids.includes(tokenizer.tokenId(token)!), `${token} is recognized`);
        assert.equal(tokenizer.decode(ids), token);
      }
    },
  });
}
