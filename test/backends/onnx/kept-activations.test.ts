import { describe, expect, it } from "vitest";
import type { Tensor } from "../../../trainers/backends/onnx/graph/tensor.ts";
import { ParameterBlock } from "../../../trainers/backends/onnx/models/parameter-block.ts";
import { buildTrainingGraph } from "../../../trainers/backends/onnx/models/training-graph.ts";
import { readDecoderConfig } from "../../../trainers/model-folders/architecture/decoder-config.ts";
import { activationSizes } from "../../../trainers/model-folders/architecture/kept-activations.ts";
import { loraParameters } from "../../../trainers/model-folders/architecture/lora-layers.ts";
import { decoderParameters } from "../../../trainers/model-folders/architecture/parameters.ts";
import { decoderConfigs } from "./decoder-configs.ts";

/** Returns the tensors of the forward pass that the backward pass reads. */
function keptTensors(raw: Readonly<Record<string, unknown>>, trains: "base" | "adapter"): Tensor[] {
  const config = readDecoderConfig(raw);
  const adapter = new ParameterBlock(loraParameters(config, { rank: 1 }));
  const { graph } = buildTrainingGraph({
    config,
    base: new ParameterBlock(decoderParameters(config)),
    ...(trains === "adapter" ? { adapter: { block: adapter, scale: 1 } } : {}),
    trains,
    terms: [{ type: "policyGradient" }],
    chunks: 1,
    blocks: 2,
    shares: true,
    outputs: [],
    device: "cpu",
    precision: "float32",
  });
  // The last norm of the forward pass comes before all losses and gradients.
  const end = graph.nodes.findLastIndex(({ operator }) => operator.endsWith("LayerNormalization")) + 1;
  const computed = new Set(graph.nodes.slice(0, end).flatMap(({ outputs }) => outputs));
  const read = new Set(graph.nodes.slice(end).flatMap(({ inputs }) => inputs));
  return [...computed].filter((tensor) => read.has(tensor) && tensor.type === "float32" && tensor.shape.length > 1);
}

/** Counts the values of a token, without single ones and the narrow ones of adapters, and the other sizes. */
function count(tensors: readonly Tensor[]): { readonly width: number; readonly others: readonly string[] } {
  const ofTokens = tensors.filter(({ shape }) => shape[0] === "tokens" && shape.at(-1) !== 1);
  const widths = ofTokens.map(({ shape }) => shape.slice(1).reduce<number>((all, size) => all * Number(size), 1));
  return {
    width: widths.filter((width) => width > 3).reduce((sum, width) => sum + width, 0),
    others: tensors.filter(({ shape }) => shape[0] !== "tokens").map(({ shape }) => shape.join()),
  };
}

describe.each(["adapter", "base"] as const)("a graph that trains the %s", (trains) => {
  it.each(Object.entries(decoderConfigs))("of %s keeps what the formula counts", (_, raw) => {
    const { layer_types: types } = raw as { readonly layer_types?: readonly string[] };
    const layersOf = (layers: number) => {
      const changed = types === undefined ? {} : { layer_types: Array.from({ length: layers }, () => types[0]) };
      return count(keptTensors({ ...raw, num_hidden_layers: layers, n_layer: layers, ...changed }, trains));
    };
    const [few, many] = [layersOf(2), layersOf(4)];
    expect((many.width - few.width) / 2).toBe(activationSizes(readDecoderConfig(raw)).keptWidth);
    // Scores and copies of keys are not kept, so their number does not grow with the layers.
    expect(many.others).toEqual(few.others);
  });
});
