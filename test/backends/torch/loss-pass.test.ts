import { expect, it } from "vitest";
import type { LossTerm } from "../../../trainers/backend/loss-term.ts";
import { layOut, lossesOf, scatter } from "../../../trainers/backends/torch/loss-pass.ts";
import { exampleData } from "../../../trainers/testing/model-subject.ts";

const terms: readonly LossTerm[] = [
  { type: "crossEntropy", weight: 0.5 },
  { type: "policyGradient" },
  { type: "importanceSampling" },
  { type: "ppo", clipLow: 0.2, clipHigh: 0.3 },
  { type: "kl", estimator: "k3", weight: 0.1 },
  { type: "entropy", weight: 0.01 },
  { type: "value", clip: 0.1, weight: 0.7 },
];

it("has derivatives that are the differences of the losses", () => {
  const { positions } = layOut(exampleData(3), 263);
  const outputs = {
    logprobs: Float32Array.from(positions, (_, i) => -4 - Math.sin(i)),
    entropy: Float32Array.from(positions, (_, i) => 2 + Math.cos(i)),
    values: Float32Array.from(positions, (_, i) => Math.sin(3 * i)),
  };
  const { derivatives } = lossesOf(terms, positions, outputs);
  const loss = (changed: typeof outputs): number => lossesOf(terms, positions, changed).sums.reduce((a, b) => a + b, 0);
  for (const name of ["logprobs", "entropy", "values"] as const) {
    for (let i = 0; i < positions.length; i++) {
      const at = (step: number): number =>
        loss({ ...outputs, [name]: outputs[name].with(i, outputs[name][i]! + step) });
      // Float32 outputs allow a difference of this size only.
      expect(derivatives[name]![i]).toBeCloseTo((at(2 ** -9) - at(-(2 ** -9))) / 2 ** -8, 2);
    }
  }
});

it("puts outputs back where the loss mask is not 0", () => {
  const data = exampleData(4);
  const { positions, arrays, shapes } = layOut(data, 263);
  expect(shapes.tokens).toEqual([4, 11]);
  const back = scatter(
    data,
    Float32Array.from(positions, (_, i) => i + 1),
  );
  for (const [row, datum] of data.entries()) {
    for (const [t, weight] of datum.lossMask.entries()) {
      const value = back[row]![t]!;
      if (weight === 0) expect(value).toBe(0);
      else expect(arrays.positions![value - 1]).toBe(row * 11 + t);
    }
  }
});
