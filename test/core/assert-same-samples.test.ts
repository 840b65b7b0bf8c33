import { describe, expect, it } from "vitest";
import type { Sample } from "../../src/contract/sampler.ts";
import { assertSameSamples } from "../../src/core/assert-same-samples.ts";

const sample: Sample = {
  ...{ request: 0, ids: [3, 4], logprobs: [-1, -2], finish: "stop", stopString: "." },
  ...{ values: [0.1, 0.2, 0.3], supports: [[3, 5], [4]], topLogprobs: [[[3, -1]], [[4, -2]]], reusedTokens: 16 },
};
const compare = (change: Partial<Sample>, tolerance: number) => (): void =>
  assertSameSamples([{ ...sample, ...change }], [sample], tolerance);

describe("assertSameSamples", () => {
  it.each<Partial<Sample>>([
    { request: 1 },
    { ids: [3, 5] },
    { logprobs: [] },
    { logprobs: [-1] },
    { logprobs: [-1, -2, -3] },
    { logprobs: [-1, Number.NaN] },
    { logprobs: [-1, -2.01] },
    { finish: "length" },
    { stopString: "!" },
    { values: undefined as never },
    { values: [0.1, 0.2] },
    { values: [0.1, 0.2, 0.31] },
    { supports: [[3], [4]] },
    { topLogprobs: [[[3, -1]], [[5, -2]]] },
    { topLogprobs: [[[3, -1]], [[4, -2.01]]] },
  ])("finds the difference %j", (change) => {
    expect(compare(change, 0.001)).toThrow();
    expect(() => assertSameSamples([sample], [{ ...sample, ...change }], 0.001)).toThrow();
  });

  it("allows numbers to differ by the tolerance, and other counts of reused tokens", () => {
    const rounded = { logprobs: [-1.0005, -2], values: [0.1, 0.2005, 0.3] };
    expect(compare({ ...rounded, reusedTokens: 0 }, 0.001)).not.toThrow();
    expect(compare(rounded, 0)).toThrow(/differs by/);
    expect(compare({}, 0)).not.toThrow();
    const impossible = { ...sample, logprobs: [-Infinity, -2] };
    expect(() => assertSameSamples([impossible], [{ ...impossible }], 0)).not.toThrow();
    expect(() => assertSameSamples([sample], [], 1)).toThrow();
  });
});
