import assert from "node:assert/strict";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assertSameSamples } from "../../src/core/assert-same-samples.ts";
import type { LossTerm } from "../backend/loss-term.ts";
import {
  adam,
  assertBelow,
  assertClose,
  assertSameLogprobs,
  exampleData,
  isAbort,
  type ModelRules,
  relative,
  repeatTolerance,
  request,
  sampleAll,
  trainStep,
} from "./model-subject.ts";

/** The rules of optimizer steps, checkpoints and aborts. */
export const stepRules: ModelRules = {
  "accumulates the gradients of several calls before a step": async ({ open, tolerance }) => {
    const data = exampleData(1);
    const together = await open();
    const apart = await open();
    await together.forwardBackward(data, [{ type: "crossEntropy" }]);
    for (const datum of data) await apart.forwardBackward([datum], [{ type: "crossEntropy" }]);
    const first = await together.optimStep(adam, { stepId: 1 });
    const second = await apart.optimStep(adam, { stepId: 1 });
    assertBelow(relative(first.gradientNorm, second.gradientNorm), 100 * tolerance);
    const probe = exampleData(2);
    await assertSameLogprobs(together, apart, probe, 100 * tolerance);
  },
  "stops between two micro-batches if the signal aborts, and adds no gradient": async ({ openTrained }) => {
    const data = Array.from({ length: 500 }, (_, seed) => exampleData(seed)).flat();
    const model = await openTrained();
    const controller = new AbortController();
    const { signal } = controller;
    const options = { signal, maxTokensPerMicroBatch: 1, onProgress: () => controller.abort() };
    await assert.rejects(model.forwardBackward(data, [{ type: "crossEntropy" }], options), isAbort);
    const untouched = await openTrained();
    await trainStep(model, exampleData(22));
    await trainStep(untouched, exampleData(22));
    await assertSameLogprobs(model, untouched, exampleData(23), 0);
  },
  "clears the gradient with the step, and the step lowers the loss": async ({ open }) => {
    const model = await open();
    const data = exampleData(4);
    const before = await model.forwardBackward(data, [{ type: "crossEntropy" }]);
    const first = await model.optimStep({ ...adam, weightDecay: 0 }, { stepId: 1 });
    assertBelow(0, first.gradientNorm);
    const after = await model.forwardBackward(data, [{ type: "crossEntropy" }]);
    assertBelow(after.loss, before.loss);
    await model.optimStep(adam, { stepId: 2 });
    const empty = await model.optimStep(adam, { stepId: 3 });
    assert.equal(empty.gradientNorm, 0);
  },
  "reports the norm of the gradient before clipping": async ({ open, tolerance }) => {
    const data = exampleData(4);
    const norms: number[] = [];
    for (const weight of [1, 10]) {
      const model = await open();
      await model.forwardBackward(data, [{ type: "crossEntropy", weight }]);
      norms.push((await model.optimStep({ ...adam, clipNorm: 0.5 }, { stepId: 1 })).gradientNorm);
    }
    assertBelow(relative(norms[1]!, 10 * norms[0]!), 100 * tolerance);
    assertBelow(0.5, norms[0]!);
  },
  "applies a step once per stepId, and increments its version": async ({ open }) => {
    const once = await open();
    const twice = await open();
    assert.equal(once.version, 0);
    for (const model of [once, twice]) {
      await model.forwardBackward(exampleData(5), [{ type: "crossEntropy" }]);
      const step = await model.optimStep(adam, { stepId: 1 });
      assert.equal(step.version, 1);
      assert.equal(model.version, 1);
    }
    assert.equal((await twice.optimStep(adam, { stepId: 1 })).version, 1);
    assert.equal(twice.version, 1);
    await assertSameLogprobs(once, twice, exampleData(6), 0);
  },
  "samples from a snapshot that later training does not change": async (subject) => {
    const { openTrained, tolerance } = subject;
    const model = await openTrained();
    const sampler = await model.snapshot();
    assert.equal(sampler.version, model.version);
    const promptIds = [...exampleData(20)[0]!.tokens.slice(0, 5)];
    const requests = [8, 9].map((seed) => ({ ...request(model, { seed, temperature: 1, length: 0 }), promptIds }));
    const before = await sampleAll(sampler, requests);
    for (let i = 0; i < 3; i++) await trainStep(model, exampleData(20 + i), { ...adam, learningRate: 0.3 });
    assertSameSamples(await sampleAll(sampler, requests), before, repeatTolerance(subject));
    const later = await model.snapshot();
    assert.equal(later.version, sampler.version + 3);
    const changed = await sampleAll(later, requests);
    assert.throws(
      () => assertSameSamples(changed, before, tolerance),
      "the later snapshot samples like the earlier one",
    );
  },
  "saves and loads exactly, including optimizer state and version": async ({ open, openTrained }) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-conformance-"));
    const saved = await openTrained();
    const path = join(folder.path, "saved");
    await saved.save(path);
    const loaded = await open();
    await loaded.load(path);
    assert.equal(loaded.version, saved.version);
    await assertSameLogprobs(saved, loaded, exampleData(11), 0);
    for (let i = 0; i < 2; i++) {
      await trainStep(saved, exampleData(30 + i));
      await trainStep(loaded, exampleData(30 + i));
    }
    assert.equal(loaded.version, saved.version);
    await assertSameLogprobs(saved, loaded, exampleData(11), 0);
  },
  "replaces its state on load, including the gradient": async ({ openTrained }) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-conformance-"));
    const saved = await openTrained();
    const path = join(folder.path, "over");
    await saved.save(path);
    const other = await openTrained(1);
    await other.forwardBackward(exampleData(40), [{ type: "crossEntropy" }]);
    await other.load(path);
    await trainStep(saved, exampleData(41));
    await trainStep(other, exampleData(41));
    await assertSameLogprobs(saved, other, exampleData(42), 0);
  },
  "is exactly repeatable if it is deterministic": async ({ backend, openTrained }) => {
    if (!backend.capabilities.deterministic) return;
    await assertSameLogprobs(await openTrained(), await openTrained(), exampleData(12), 0);
  },
  "opens models that share no trained weights": async ({ open, openTrained }) => {
    const trained = await openTrained();
    const fresh = await open();
    const probe = exampleData(13);
    const before = await fresh.forward(probe, { outputs: ["logprobs"] });
    await trainStep(trained, exampleData(14));
    const after = await fresh.forward(probe, { outputs: ["logprobs"] });
    for (const [i, result] of before.entries()) assertClose(result.logprobs!, after[i]!.logprobs!, 0);
  },
  "opens a frozen reference that equals the untrained model and refuses training": async ({
    backend,
    open,
    spec,
    tolerance,
  }) => {
    const model = await open();
    const reference = await backend.openModel({ source: spec.source, trainable: { type: "frozen" } });
    await assertSameLogprobs(model, reference, exampleData(15), tolerance);
    assert.equal(reference.parameterCount, 0);
    await assert.rejects(reference.forwardBackward(exampleData(15), [{ type: "crossEntropy" }]), {
      code: "backend.unsupported",
    });
  },
  "learns from demonstrations": async ({ open }) => {
    const model = await open();
    const data = exampleData(18).slice(0, 2);
    const terms: LossTerm[] = [{ type: "crossEntropy" }];
    let first = 0;
    let last = 0;
    for (let i = 0; i < 30; i++) {
      const { loss } = await model.forwardBackward(data, terms);
      if (i === 0) first = loss;
      last = loss;
      await model.optimStep({ ...adam, learningRate: 0.05 }, { stepId: i + 1 });
    }
    assertBelow(last, 0.7 * first);
  },
  "keeps its weights if a gradient is not finite": async ({ openTrained }) => {
    const model = await openTrained();
    const probe = exampleData(19);
    const before = await model.forward(probe, { outputs: ["logprobs"] });
    const version = model.version;
    const poisoned = probe.map((datum) => ({ ...datum, advantages: datum.advantages!.map(() => Number.NaN) }));
    const attempt = async (): Promise<void> => {
      await model.forwardBackward(poisoned, [{ type: "policyGradient" }]);
      await model.optimStep(adam, { stepId: version + 1 });
    };
    await assert.rejects(attempt(), { code: "backend.not-finite" });
    const after = await model.forward(probe, { outputs: ["logprobs"] });
    for (const [i, result] of before.entries()) assertClose(result.logprobs!, after[i]!.logprobs!, 0);
    assert.equal(model.version, version);
  },
  "stops at an aborted signal, and works afterwards": async ({ openTrained }) => {
    const model = await openTrained();
    const signal = AbortSignal.abort();
    const data = exampleData(21);
    await assert.rejects(model.forward(data, { outputs: ["logprobs"], signal }), isAbort);
    await assert.rejects(model.forwardBackward(data, [{ type: "crossEntropy" }], { signal }), isAbort);
    const sampler = await model.snapshot();
    const requests = [request(model, { seed: 1, temperature: 1, length: 3 })];
    await assert.rejects(sampleAll(sampler, requests, signal), isAbort);
    const untouched = await openTrained();
    await trainStep(model, exampleData(22));
    await trainStep(untouched, exampleData(22));
    await assertSameLogprobs(model, untouched, exampleData(23), 0);
  },
};
