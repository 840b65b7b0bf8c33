import { expect, it } from "vitest";
import { textCall } from "../../../server/completions/text-call.ts";
import type { SampledModel } from "../../../src/core/policy/sampled-model.ts";
import { createByteTokenizer } from "../../../src/core/tokens/byte-tokenizer.ts";

const model = { tokenizer: { ...createByteTokenizer(), startIds: [260, 261] } } as unknown as SampledModel;

// As vLLM does.
it.each([
  ["a text", { prompt: "a" }, [[260, 261, 97]]],
  [
    "texts",
    { prompt: ["a", ""] },
    [
      [260, 261, 97],
      [260, 261],
    ],
  ],
  ["a text without them", { prompt: "a", add_special_tokens: false }, [[97]]],
  ["null", { prompt: "a", add_special_tokens: null }, [[260, 261, 97]]],
  ["token ids", { prompt: [97] }, [[97]]],
  ["lists of token ids", { prompt: [[97], [98]], add_special_tokens: true }, [[97], [98]]],
])("puts the tokenizer's own tokens in front of a text: %s", (_, body, prompts) => {
  expect(textCall({ model: "m", ...body }).request(model).prompts).toEqual(prompts);
});
