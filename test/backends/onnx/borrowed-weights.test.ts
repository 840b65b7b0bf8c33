import { describe, expect, it } from "vitest";
import { EngineModel } from "../../../trainers/backends/onnx/engine/engine-model.ts";
import type { SequenceRunner } from "../../../trainers/backends/onnx/engine/sequence-runner.ts";
import { initializeParameters } from "../../../trainers/backends/onnx/models/initial-weights.ts";
import { ParameterBlock } from "../../../trainers/backends/onnx/models/parameter-block.ts";
import { readDecoderConfig } from "../../../trainers/model-folders/architecture/decoder-config.ts";
import { decoderParameters } from "../../../trainers/model-folders/architecture/parameters.ts";
import { tinyConfig } from "./tiny-config.ts";

const adam = { learningRate: 0.1, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1 };

/** A model without gradients, so that its steps only apply weight decay. */
function openModel({ adapter }: { readonly adapter: boolean }) {
  const config = readDecoderConfig(tinyConfig);
  const base = new ParameterBlock(decoderParameters(config));
  initializeParameters(base, { seed: 1, deviation: 1 });
  const own = new ParameterBlock([{ name: "adapter", shape: [3, 1], initial: "ones" }]);
  initializeParameters(own, { seed: 1, deviation: 1 });
  const weights = { config, base, ...(adapter ? { adapter: { block: own, scale: 1 } } : {}) };
  const runner = undefined as unknown as SequenceRunner;
  const model = new EngineModel({ weights, trained: adapter ? own : base, runner });
  const borrow = () => {
    const { weights: lent, release } = model.borrow();
    const block = lent.adapter?.block ?? (lent.base as ParameterBlock);
    return { block, before: block.data.slice(), release };
  };
  return { model, base, borrow, step: (stepId: number) => model.optimStep(adam, stepId) };
}

describe.each([{ adapter: true }, { adapter: false }])("weights that are lent, %j,", (kind) => {
  it("are not changed by steps and loads, while the model continues with a copy", () => {
    const { model, base, borrow, step } = openModel(kind);
    const first = borrow();
    const same = borrow();
    expect(same.block).toBe(first.block);
    const start = model.state;
    const saved = { ...start, parameters: start.parameters.slice() };
    step(1);
    expect(model.trained).not.toBe(first.block);
    expect(model.trained).toBe(model.weights.adapter?.block ?? model.weights.base);
    expect(model.trained!.data).not.toEqual(first.before);
    const second = borrow();
    model.restore(saved);
    step(2);
    for (const { block, before } of [first, same, second]) expect(block.data).toEqual(before);
    // A base that is not trained is never copied.
    expect(model.weights.base === base).toBe(kind.adapter);
  });

  it("are changed in place after all borrowers have given them back", () => {
    const { model, borrow, step } = openModel(kind);
    const block = model.trained!;
    const [first, second] = [borrow(), borrow()];
    first.release();
    second.release();
    second.release();
    step(1);
    expect(model.trained).toBe(block);
    const [kept, given] = [borrow(), borrow()];
    given.release();
    step(2);
    expect(model.trained).not.toBe(block);
    expect(kept.block.data).toEqual(kept.before);
    // Giving back an older block does not affect the block that is trained now.
    const now = borrow();
    kept.release();
    first.release();
    step(3);
    expect(now.block.data).toEqual(now.before);
  });

  it("are not copied by a step that is skipped", () => {
    const { model, borrow, step } = openModel(kind);
    step(1);
    const { block } = borrow();
    step(1);
    expect(model.trained).toBe(block);
  });
});
