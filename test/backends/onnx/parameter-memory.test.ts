import { describe, expect, it } from "vitest";
import type { LyceumError } from "../../../src/contract/errors/index.ts";
import { machineMemory } from "../../../src/core/machine-memory.ts";
import { checkParameterMemory } from "../../../trainers/backends/onnx/models/parameter-memory.ts";
import { readDecoderConfig } from "../../../trainers/model-folders/architecture/decoder-config.ts";
import { decoderParameters } from "../../../trainers/model-folders/architecture/parameters.ts";

/** Returns the shape of a model whose float32 weights need about this share of the machine's memory. */
function shapeOf(share: number) {
  const [layers, width] = [10, 1024];
  return readDecoderConfig({
    ...{ model_type: "llama", vocab_size: 1000, hidden_size: width, num_hidden_layers: layers, num_attention_heads: 8 },
    // A layer has three matrices of this size. The rest is small.
    intermediate_size: Math.round((share * machineMemory()) / (layers * 3 * 4 * width)),
  });
}

function hintOf(share: number, trained: boolean): string | undefined {
  const config = shapeOf(share);
  try {
    checkParameterMemory(decoderParameters(config), { trained, config });
    return undefined;
  } catch (error) {
    return (error as LyceumError).hint;
  }
}

describe("checkParameterMemory", () => {
  it.each([
    [0.8, false, undefined],
    [1.5, false, /^Set backend\.quantize to 8 \(--quantize 8\): the weights then need/],
    [4.5, false, /^Set backend\.quantize to 4 \(--quantize 4\)/],
    [20, false, /^Choose a smaller model/],
    [0.2, true, undefined],
    [0.5, true, /^Set model\.adapter to an adapter \(type: lora\): the weights then need/],
    [1.5, true, /^Set model\.adapter to an adapter \(type: lora\) and backend\.quantize to 8/],
    [20, true, /^Choose a smaller model/],
  ] as const)("for weights of %s times the memory (trained: %s) the hint is %s", (share, trained, hint) => {
    if (hint === undefined) expect(hintOf(share, trained)).toBeUndefined();
    else expect(hintOf(share, trained)).toMatch(hint);
  });
});
