import { expect, it } from "vitest";
import { Completion } from "../../../src/core/policy/completion.ts";
import { DecodeBatch } from "../../../trainers/backends/onnx/engine/decode-batch.ts";
import { readDecoderConfig } from "../../../trainers/model-folders/architecture/decoder-config.ts";
import { decoderConfigs } from "./decoder-configs.ts";

const config = readDecoderConfig(decoderConfigs["llama, tied, grouped queries"]!);
const size = config.layers * config.keyValueHeads * config.headSize;

function completionOf(seed: number): Completion {
  const settings = { temperature: 1, maxTokens: 9 };
  const request = { promptIds: [seed], settings, seed, stopTokenIds: [] };
  return new Completion({ request, index: 0, tokenizer: undefined, maxLength: 99 });
}

it("does not keep what a row that fails has computed", () => {
  const batch = new DecodeBatch(config, 1000);
  const completions = [1, 2].map(completionOf);
  const broken = completions[1];
  const prompts = completions.map((completion, place) => {
    return {
      place,
      count: 1,
      completions: [completion],
      keys: new Float32Array(size),
      values: new Float32Array(size),
      first: 0,
    };
  });
  const unread = { length: 1, kept: [] };
  batch.place([unread, unread]);
  batch.admit(prompts);
  batch.feeds();
  const numbers = (length: number) => new Float32Array(length).fill(Number.NaN, length / 2);
  const results = {
    keys: numbers(2 * size),
    values: numbers(2 * size),
    probabilities: numbers(2 * config.vocabularySize),
  };
  batch.advance(results, (completion) => completion !== broken);
  batch.place([unread]);
  batch.admit([{ ...prompts[0]!, completions: [completionOf(3)] }]);
  // A masked value that is not finite spoils a row, because NaN times 0 is NaN.
  const spoiled = Object.entries(batch.feeds()).filter(([, { data }]) =>
    [...data].some((value) => Number.isNaN(value)),
  );
  expect(spoiled.map(([name]) => name)).toEqual([]);
});
