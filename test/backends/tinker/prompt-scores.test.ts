import { expect, test } from "vitest";
import type { Sampler } from "../../../src/contract/sampler.ts";
import { scorePrompt } from "../../../trainers/tinker/service/prompt-scores.ts";

test("a prompt that the sampler refuses takes no memory for its scores", async () => {
  const sampler: Sampler = {
    specificationVersion: "v1",
    version: 0,
    sample: async function* () {},
    score: () => Promise.reject(new Error("too long")),
    close: async () => undefined,
  };
  // No array of this size exists.
  const request = { ids: [1, 2, 3], last: 2, topK: 2 ** 50, withLogprobs: true };
  await expect(scorePrompt(sampler, request, new AbortController().signal)).rejects.toThrow("too long");
});
