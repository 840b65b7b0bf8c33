import { describe, expect, it } from "vitest";
import type { LossTerm } from "../../../trainers/backend/loss-term.ts";
import type { ForwardOutput } from "../../../trainers/backend/training-backend.ts";
import { ParameterBlock } from "../../../trainers/backends/onnx/models/parameter-block.ts";
import { buildTrainingGraph } from "../../../trainers/backends/onnx/models/training-graph.ts";
import { valueHeadParameters } from "../../../trainers/backends/onnx/models/value-head.ts";
import { readDecoderConfig } from "../../../trainers/model-folders/architecture/decoder-config.ts";
import { decoderParameters } from "../../../trainers/model-folders/architecture/parameters.ts";
import { tinyConfig } from "./tiny-config.ts";

/** The parameters that a step over these terms reads. */
function parametersRead(terms: readonly LossTerm[], outputs: readonly ForwardOutput[]): string[] {
  const config = readDecoderConfig({ ...tinyConfig, tie_word_embeddings: false });
  const { baseParameters } = buildTrainingGraph({
    config,
    base: new ParameterBlock([...decoderParameters(config), ...valueHeadParameters(config)]),
    trains: "base",
    terms,
    chunks: 1,
    blocks: 1,
    outputs,
    device: "cpu",
    precision: "float32",
  });
  return baseParameters.map(({ name }) => name);
}

describe("a model with only a value loss", () => {
  it("never reads the vocabulary head, for training or for values", () => {
    expect(parametersRead([{ type: "value" }], ["values"])).not.toContain("lm_head.weight");
    expect(parametersRead([], ["values"])).not.toContain("lm_head.weight");
  });

  it("reads both heads if the policy is trained too", () => {
    const both = parametersRead([{ type: "policyGradient" }, { type: "value" }], ["logprobs", "values"]);
    expect(both).toEqual(expect.arrayContaining(["lm_head.weight", "value_head.weight", "value_head.bias"]));
    expect(parametersRead([{ type: "policyGradient" }], ["logprobs"])).not.toContain("value_head.weight");
  });
});
