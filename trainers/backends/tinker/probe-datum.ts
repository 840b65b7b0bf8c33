import type { TinkerDatum } from "../../tinker/protocol/pass-request.ts";
import { vector } from "../../tinker/protocol/tensor.ts";

const length = 8;

/** Returns a short sequence whose targets all have the same weight, for measurements of a server. */
export function probeDatum(weight: number): TinkerDatum {
  const ids = Int32Array.from({ length: length + 1 }, (_, i) => i + 1);
  return {
    tokens: ids.subarray(0, length),
    lossInputs: {
      target_tokens: vector(ids.subarray(1)),
      weights: vector(new Float32Array(length).fill(weight)),
    },
  };
}
