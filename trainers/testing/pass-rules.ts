import assert from "node:assert/strict";
import { assertSameSamples } from "../../src/core/assert-same-samples.ts";
import { sum } from "../../src/core/statistics.ts";
import { type Datum, datumFromIds } from "../backend/datum.ts";
import type { LossTerm } from "../backend/loss-term.ts";
import { tokenLossOf } from "../backend/loss-values/token-loss-of.ts";
import type { PassProgress } from "../backend/training-backend.ts";
import {
  adam,
  assertBelow,
  assertClose,
  exampleData,
  type ModelRules,
  relative,
  repeatTolerance,
  request,
  sampleAll,
} from "./model-subject.ts";

const tokenTerms = [
  { type: "crossEntropy" },
  { type: "crossEntropy", weight: 0.25 },
  { type: "policyGradient" },
  { type: "importanceSampling" },
  { type: "ppo", clipLow: 0.2, clipHigh: 0.28 },
  { type: "cispo", clipLow: 0.3, clipHigh: 0.28 },
  { type: "kl", estimator: "k1" },
  { type: "kl", estimator: "k2" },
  { type: "kl", estimator: "k3" },
] as const satisfies readonly LossTerm[];

/** What sampling, `forward` and `forwardBackward` return. */
export const passRules: ModelRules = {
  "reports its capabilities": async ({ backend }) => {
    assert.equal(backend.specificationVersion, "v1");
    assert.notEqual(backend.capabilities.name, "");
    assert.ok(backend.capabilities.losses.includes("crossEntropy"), "losses has no crossEntropy");
  },
  "forward returns the same log-probabilities as the sampler": async ({ backend, openTrained, tolerance }) => {
    const model = await openTrained();
    const { trainableSampling } = backend.capabilities;
    const settings = [{ temperature: 0.7 }, { topK: 5 }, { topP: 0.6 }, { minP: 0.3 }].filter((setting) =>
      trainableSampling.some((name) => name in setting),
    );
    for (const setting of [{}, ...settings, Object.assign({}, ...settings)]) {
      const requests = [1, 2, 3, 4].map((seed) => {
        const asked = request(model, { seed, temperature: 1, length: 2 + 3 * seed });
        return { ...asked, settings: { ...asked.settings, supports: true, ...setting } };
      });
      const samples = await sampleAll(await model.snapshot(), requests);
      const data = samples.map(({ ids, logprobs, supports, request: index }) => {
        const { promptIds, settings: asked } = requests[index]!;
        return datumFromIds({
          ids: [...promptIds, ...ids],
          mask: [...promptIds.map(() => 0), ...ids.map(() => 1)],
          logprobs: [...promptIds.map(() => 0), ...logprobs],
          ...(supports === undefined ? {} : { supports: [...promptIds.map(() => null), ...supports] }),
          temperature: asked.temperature,
        });
      });
      const results = await model.forward(data, { outputs: ["logprobs"] });
      for (const [i, datum] of data.entries()) assertClose(results[i]!.logprobs!, datum.behaviourLogprobs!, tolerance);
    }
  },
  "samples the same completions for the same requests, within their limits": async (subject) => {
    const { open, openTrained, tolerance } = subject;
    const sampler = await (await openTrained()).snapshot();
    const model = await open();
    const requests = [5, 6, 7].map((seed) => request(model, { seed, temperature: 1, length: 4 }));
    const samples = await sampleAll(sampler, requests);
    assertSameSamples(await sampleAll(sampler, requests), samples, repeatTolerance(subject));
    assert.deepEqual(
      samples.map((sample) => sample.request),
      [0, 1, 2],
    );
    for (const { ids, logprobs, finish } of samples) {
      assert.equal(logprobs.length, ids.length);
      assertBelow(ids.length, 13);
      assert.equal(finish === "stop", model.renderer.stopTokenIds.includes(ids.at(-1)!));
      if (finish === "length") assert.equal(ids.length, 12);
      for (const logprob of logprobs) assert.ok(logprob <= tolerance, `a logprob is ${logprob}`);
      const early = ids.slice(0, -1).filter((id) => model.renderer.stopTokenIds.includes(id));
      assert.deepEqual(early, [], "a sample goes on after its end");
    }
  },
  "computes the reference formula of every loss term that it supports": async ({ backend, openTrained, tolerance }) => {
    const model = await openTrained();
    const data = exampleData(9);
    const current = await model.forward(data, { outputs: ["logprobs"] });
    for (const term of tokenTerms) {
      if (!backend.capabilities.losses.includes(term.type)) continue;
      let expected = 0;
      for (const [i, datum] of data.entries()) {
        for (const [t, mask] of datum.lossMask.entries()) {
          if (mask === 0) continue;
          expected += tokenLossOf(term, {
            logprob: current[i]!.logprobs![t]!,
            behaviourLogprob: datum.behaviourLogprobs![t]!,
            referenceLogprob: datum.referenceLogprobs![t]!,
            advantage: datum.advantages![t]!,
            mask,
          }).value;
        }
      }
      const result = await model.forwardBackward(data, [term]);
      assertBelow(Math.abs(result.loss - expected) / Math.max(1, Math.abs(expected)), 20 * tolerance);
      assert.equal(result.terms.length, 1);
      assert.equal(result.tokens, sum(data.map(({ lossMask }) => lossMask.filter((weight) => weight !== 0).length)));
      for (const [i, logprobs] of result.logprobs.entries()) {
        assertClose(logprobs, current[i]!.logprobs!, tolerance);
      }
    }
  },
  "sums several terms with their weights": async ({ openTrained }) => {
    const model = await openTrained();
    const data = exampleData(3);
    const terms: LossTerm[] = [
      { type: "policyGradient", weight: 2 },
      { type: "kl", estimator: "k3", weight: 0.5 },
    ];
    const both = await model.forwardBackward(data, terms);
    assertBelow(Math.abs(both.loss - (both.terms[0]! + both.terms[1]!)), 5e-4);
    const alone = await model.forwardBackward(data, [{ type: "policyGradient" }]);
    assertBelow(Math.abs(both.terms[0]! - 2 * alone.loss), 5e-4);
  },
  "splits data into micro-batches of at most maxTokensPerMicroBatch tokens, with the same results": async ({
    backend,
    openTrained,
    tolerance,
  }) => {
    const { microBatches = true } = backend.capabilities;
    for (const [maxTokens, atLeast] of [
      [12, 3],
      [1, 4],
    ] as const) {
      const data = exampleData(1);
      const whole = await openTrained();
      const split = await openTrained();
      const passes: PassProgress[][] = [];
      const options = () => {
        const done: PassProgress[] = [];
        passes.push(done);
        return { maxTokensPerMicroBatch: maxTokens, onProgress: (part: PassProgress) => void done.push(part) };
      };
      const logprobs = await whole.forward(data, { outputs: ["logprobs"] });
      for (const [i, result] of (await split.forward(data, { outputs: ["logprobs"], ...options() })).entries()) {
        assertClose(result.logprobs!, logprobs[i]!.logprobs!, tolerance);
      }
      const first = await whole.forwardBackward(data, [{ type: "policyGradient" }]);
      const second = await split.forwardBackward(data, [{ type: "policyGradient" }], options());
      assert.equal(second.tokens, first.tokens);
      assertBelow(Math.abs(second.loss - first.loss), 5e-4);
      for (const [i, values] of second.logprobs.entries()) assertClose(values, first.logprobs[i]!, tolerance);
      const norms: number[] = [];
      for (const model of [whole, split]) norms.push((await model.optimStep(adam, { stepId: 4 })).gradientNorm);
      assertBelow(relative(norms[1]!, norms[0]!), 100 * tolerance);
      for (const done of passes) {
        if (microBatches) assertBelow(atLeast - 1, done.length);
        assert.equal(sum(done.map(({ sequences }) => sequences)), data.length);
        assert.equal(sum(done.map(({ tokens }) => tokens)), first.tokens);
      }
    }
  },
  "returns the same log-probabilities in any batch": async ({ openTrained, tolerance }) => {
    const model = await openTrained();
    const data = exampleData(16);
    const together = await model.forward(data, { outputs: ["logprobs"] });
    for (const [i, datum] of data.entries()) {
      const [alone] = await model.forward([datum], { outputs: ["logprobs"] });
      assertClose(alone!.logprobs!, together[i]!.logprobs!, tolerance);
    }
  },
  "returns 0 where the loss mask is 0, and the entropy on request": async ({ backend, openTrained }) => {
    const model = await openTrained();
    const data = exampleData(17);
    const hasEntropy = backend.capabilities.losses.includes("entropy");
    const results = await model.forward(data, { outputs: hasEntropy ? ["logprobs", "entropy"] : ["logprobs"] });
    for (const [i, { lossMask }] of data.entries()) {
      const { logprobs, entropy } = results[i]!;
      assert.equal(logprobs!.length, lossMask.length);
      for (const [t, weight] of lossMask.entries()) {
        if (weight === 0) assert.equal(logprobs![t], 0);
        else assertBelow(logprobs![t]!, 0);
        if (!hasEntropy) continue;
        if (weight === 0) assert.equal(entropy![t], 0);
        else assertBelow(0, entropy![t]!);
      }
    }
  },
  "refuses invalid data": async ({ open }) => {
    const model = await open();
    const [datum] = exampleData(24);
    const outOfRange = Int32Array.from(datum!.tokens, () => model.tokenizer.vocabularySize);
    const tooLong = datumFromIds({
      ids: Array.from({ length: model.maxLength + 2 }, () => 1),
      mask: Array.from({ length: model.maxLength + 2 }, () => 1),
    });
    const bad: Datum[] = [
      { ...datum!, targets: datum!.targets.slice(1) },
      { ...datum!, lossMask: new Float32Array(0) },
      { ...datum!, advantages: new Float32Array(1) },
      { ...datum!, tokens: outOfRange },
      tooLong,
    ];
    for (const wrong of bad) {
      await assert.rejects(model.forwardBackward([wrong], [{ type: "policyGradient" }]), {
        code: /^(backend|policy)\.unsupported/,
      });
    }
  },
  "accepts empty data and does nothing": async ({ open }) => {
    const model = await open();
    assert.deepEqual(await model.forward([], { outputs: ["logprobs"] }), []);
    const result = await model.forwardBackward([], [{ type: "crossEntropy" }]);
    assert.partialDeepStrictEqual(result, { loss: 0, tokens: 0 });
    assert.deepEqual(result.logprobs, []);
    assert.deepEqual(await sampleAll(await model.snapshot(), []), []);
  },
};
