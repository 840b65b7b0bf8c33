import { expect, it } from "vitest";
import { adamWStep, createAdamState } from "../../../trainers/backends/onnx/engine/adamw.ts";
import { GradientSum } from "../../../trainers/backends/onnx/engine/gradient-sum.ts";
import { ParameterBlock } from "../../../trainers/backends/onnx/models/parameter-block.ts";

const block = (): ParameterBlock =>
  new ParameterBlock(
    ["a", "b", "c", "d"].map((name) => ({ name, shape: [1, 2], initial: "zeros" })),
    Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8),
  );

it("adds up by groups of parameters, and is zero for parameters without a gradient", () => {
  const sum = new GradientSum();
  sum.add("b+c", Float32Array.of(1, 2, 3, 4));
  sum.add("b+c", Float32Array.of(10, 20, 30, 40));
  const other = new GradientSum();
  other.add("b+c", Float32Array.of(100, 200, 300, 400));
  other.add("a", Float32Array.of(-5, 5));
  sum.addAll(other);
  expect(sum.norm).toBeCloseTo(Math.hypot(111, 222, 333, 444, -5, 5), 10);
  expect(sum.partsOf(block())).toEqual([
    { names: ["b", "c"], gradient: Float32Array.of(111, 222, 333, 444) },
    { names: ["a"], gradient: Float32Array.of(-5, 5) },
    { names: ["d"], gradient: Float32Array.of(0, 0) },
  ]);
});

it("in parts gives the same step as in one piece", () => {
  const params = { learningRate: 0.1, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0.5 };
  const parts = [
    { names: ["c", "d"], gradient: Float32Array.of(3, -4, 0.5, 0) },
    { names: ["a"], gradient: Float32Array.of(1, -2) },
    { names: ["b"], gradient: Float32Array.of(0, 7) },
  ];
  const whole = [{ names: ["a", "b", "c", "d"], gradient: Float32Array.of(1, -2, 0, 7, 3, -4, 0.5, 0) }];
  const [one, other] = [parts, whole].map((gradient) => {
    const weights = block();
    const state = createAdamState(8);
    for (let step = 0; step < 2; step++) adamWStep({ weights, gradient, state, params, scale: 0.5 });
    return { values: weights.data, state };
  });
  expect(one).toEqual(other);
  expect(one!.state.step).toBe(2);
  expect(one!.values).not.toEqual(block().data);
});
