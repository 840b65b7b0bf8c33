import { expect, test } from "vitest";
import { scoreTokens } from "../../../trainers/backends/onnx/engine/score-tokens.ts";

const vocabularySize = 3;
/** The logits after the tokens at the places 0 to 3. */
const logits = [
  [1, 1000, 1],
  [0, 0, 0],
  [-1, 2, 2],
  [5, 4, 3],
];
const ids = [0, 1, 2, 0];
const { signal } = new AbortController();

function model(maxLogits?: number) {
  const runs: number[] = [];
  const logitsAfter = async (rows: Int32Array): Promise<Float32Array> => {
    runs.push(rows.length);
    return Float32Array.from([...rows].flatMap((row) => logits[row]!));
  };
  return { runs, source: { vocabularySize, logitsAfter, ...(maxLogits === undefined ? {} : { maxLogits }) } };
}

test("scores are the logarithms of the softmax, also far from the likeliest token", async () => {
  const { source } = model();
  const scores = await scoreTokens(source, { ids, topK: 2 }, signal);
  const last = Math.log(Math.exp(-1) + 2 * Math.exp(2));
  const expected = [0, -Math.log(3), -1 - last];
  for (const [i, value] of expected.entries()) expect(scores.logprobs[i]).toBeCloseTo(value, 5);
  // Ties go to the lower id.
  expect([...scores.topIds]).toEqual([1, 0, 0, 1, 1, 2]);
  expect([...scores.topLogprobs].map((value) => Number(value.toFixed(4)))).toEqual([
    ...[0, -999, -1.0986, -1.0986],
    ...[2 - last, 2 - last].map((value) => Number(value.toFixed(4))),
  ]);
});

test("parts of the logits give the same scores as all at once", async () => {
  const whole = model();
  const parts = model(2 * vocabularySize);
  const expected = await scoreTokens(whole.source, { ids, topK: 3 }, signal);
  expect(await scoreTokens(parts.source, { ids, topK: 3 }, signal)).toEqual(expected);
  expect([whole.runs, parts.runs]).toEqual([[3], [2, 1]]);
  const { logprobs } = await scoreTokens(parts.source, { ids, last: 1 }, signal);
  expect(logprobs).toEqual(expected.logprobs.slice(2));
});
