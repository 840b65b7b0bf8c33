import assert from "node:assert/strict";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Datum, datumFromIds } from "../backend/datum.ts";
import type { LossTerm } from "../backend/loss-term.ts";
import { valueLoss } from "../backend/loss-values/value-loss.ts";
import type { Model } from "../backend/training-backend.ts";
import { adam, assertBelow, assertClose, exampleData, type ModelRules, relative } from "./model-subject.ts";

const values = { outputs: ["values"] } as const;
const both: readonly LossTerm[] = [
  { type: "policyGradient", weight: 0.3 },
  { type: "value", clip: 0.2, weight: 0.5 },
];

/** The requirements of a model with a value head. */
export const valueHeadRules: ModelRules = {
  "values every state at 0 before training": async ({ open }) => {
    for (const result of await (await open()).forward(exampleData(1), values)) {
      assert.deepEqual(Object.keys(result), ["values"]);
      assert.ok(result.values!.every((value) => value === 0));
    }
  },
  "values a state by the tokens before it, and returns 0 where the loss mask is 0": async ({ open, tolerance }) => {
    const model = await openTrainedValues(open);
    const [datum] = exampleData(2);
    await model.forwardBackward([datum!], [{ type: "value" }]);
    await model.optimStep(adam, { stepId: model.version + 1 });
    const { length } = datum!.tokens;
    const changed = { ...datum!, targets: datum!.targets.map((id) => (id === 40 ? 41 : 40)) };
    const cut = length - 2;
    const prefix = datumFromIds({ ids: [...datum!.tokens.slice(0, cut), 50], mask: new Array(cut + 1).fill(1) });
    const [whole, other, start] = await model.forward([datum!, changed, prefix], values);
    assertClose(other!.values!, whole!.values!, tolerance);
    for (const [t, weight] of datum!.lossMask.entries()) {
      if (weight === 0) assert.equal(whole!.values![t], 0);
      else {
        assert.notEqual(whole!.values![t], 0);
        if (t < cut) assertClose(whole!.values!.subarray(t, t + 1), start!.values!.subarray(t, t + 1), tolerance);
      }
    }
  },
  "returns the same values in any batch": async ({ open, tolerance }) => {
    const model = await openTrainedValues(open);
    const data = exampleData(3);
    const together = await model.forward(data, values);
    for (const [i, datum] of data.entries()) {
      const [alone] = await model.forward([datum], values);
      assertClose(alone!.values!, together[i]!.values!, tolerance);
    }
  },
  "computes the reference formula of the value loss, clipped or not": async ({ open, tolerance }) => {
    const model = await openTrainedValues(open);
    const data = exampleData(4);
    const current = await model.forward(data, values);
    for (const term of [{ type: "value" }, { type: "value", clip: 0.1, weight: 0.7 }] as const) {
      let expected = 0;
      for (const [i, datum] of data.entries()) {
        for (const [t, mask] of datum.lossMask.entries()) {
          if (mask === 0) continue;
          const prediction = current[i]!.values![t]!;
          const input = { prediction, target: datum.returns![t]!, oldPrediction: datum.oldValues![t]!, mask };
          expected += (term.weight ?? 1) * valueLoss(input, term.clip).value;
        }
      }
      const result = await model.forwardBackward(data, [term]);
      assertBelow(relative(result.loss, expected), 20 * tolerance);
      assert.equal(result.terms.length, 1);
      assert.deepEqual(result.logprobs, []);
      for (const [i, found] of result.values!.entries()) assertClose(found, current[i]!.values!, tolerance);
    }
  },
  "gives what each of several terms gives alone, in their order, with log-probabilities and values": async ({
    open,
    tolerance,
  }) => {
    const model = await openTrainedValues(open);
    const data = exampleData(5);
    const terms: LossTerm[] = [{ type: "value" }, { type: "crossEntropy" }, { type: "value", clip: 0.1 }];
    const together = await model.forwardBackward(data, terms);
    for (const [i, term] of terms.entries()) {
      const alone = await model.forwardBackward(data, [term]);
      assertBelow(relative(together.terms[i]!, alone.loss), 20 * tolerance);
      assert.equal(alone.values === undefined, term.type !== "value");
    }
    const current = await model.forward(data, { outputs: ["values", "logprobs"] });
    for (const [i, result] of current.entries()) {
      assertClose(together.values![i]!, result.values!, tolerance);
      assertClose(together.logprobs[i]!, result.logprobs!, tolerance);
    }
  },
  "has the same gradient for policy and value terms together as one after the other": async ({ open, tolerance }) => {
    const [together, apart] = [await openTrainedValues(open), await openTrainedValues(open)];
    const data = exampleData(6);
    await together.forwardBackward(data, both);
    for (const term of both) await apart.forwardBackward(data, [term]);
    const [first, second] = [await together.optimStep(adam, { stepId: 9 }), await apart.optimStep(adam, { stepId: 9 })];
    assertBelow(relative(first.gradientNorm, second.gradientNorm), 100 * tolerance);
    await assertSame(together, apart, 100 * tolerance);
  },
  "learns given returns": async ({ open }) => {
    const model = await open();
    const data = exampleData(7).slice(0, 2);
    const losses: number[] = [];
    for (let step = 1; step <= 60; step++) {
      losses.push((await model.forwardBackward(data, [{ type: "value" }])).loss);
      await model.optimStep({ ...adam, learningRate: 0.01, weightDecay: 0 }, { stepId: step });
    }
    assertBelow(losses.at(-1)!, 0.2 * losses[0]!);
  },
  "does not move a value that left the clip range towards its return": async ({ open }) => {
    const model = await open();
    // Every value is 0, with old values of -1 and returns of 1: all have moved by 1 towards their return.
    const data = exampleData(8).map((datum) => ({
      ...datum,
      returns: datum.lossMask.map(() => 1),
      oldValues: datum.lossMask.map(() => -1),
    }));
    const step = async (clip: number): Promise<number> => {
      await model.forwardBackward(data, [{ type: "value", clip }]);
      return (await model.optimStep({ ...adam, learningRate: 0 }, { stepId: model.version + 1 })).gradientNorm;
    };
    assert.equal(await step(0.2), 0);
    assertBelow(1, await step(1.2));
  },
  "repeats, saves and loads values exactly": async ({ backend, open }) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-conformance-"));
    const saved = await openTrainedValues(open);
    const path = join(folder.path, "saved");
    await saved.save(path);
    const loaded = await open();
    await loaded.load(path);
    await assertSame(saved, loaded, 0);
    for (const model of [saved, loaded]) await trainBoth(model, 9);
    await assertSame(saved, loaded, 0);
    if (backend.capabilities.deterministic) {
      const again = await openTrainedValues(open);
      await trainBoth(again, 9);
      await assertSame(saved, again, 0);
    }
  },
  "samples according to its log-probabilities": async ({ open, tolerance }) => {
    const model = await openTrainedValues(open);
    const request = { promptIds: [50, 60], settings: { temperature: 1, maxTokens: 8 }, seed: 3, stopTokenIds: [] };
    const [sample] = await Array.fromAsync((await model.snapshot()).sample([request]));
    const ids = [...request.promptIds, ...sample!.ids];
    const [result] = await model.forward([datumFromIds({ ids, mask: ids.map((_, i) => (i < 2 ? 0 : 1)) })], {
      outputs: ["logprobs"],
    });
    assertClose(result!.logprobs!.slice(1), Float32Array.from(sample!.logprobs), tolerance);
  },
  "returns the values of sampled states equal to those of forward, if it supports this": async ({
    backend,
    open,
    spec,
    tolerance,
  }) => {
    const model = await openTrainedValues(open);
    // States whose value was learned and in which the policy continues.
    const known = exampleData(20).map(({ tokens }) => [...tokens.slice(0, 3)]);
    const requests = [
      { promptIds: known[0]!, settings: { temperature: 1, maxTokens: 8 } },
      { promptIds: known[0]!, settings: { temperature: 0.5, maxTokens: 12 } },
      { promptIds: known[1]!, settings: { temperature: 1, maxTokens: 1 } },
      { promptIds: known[2]!, settings: { temperature: 0, maxTokens: 5 } },
    ].map((request, seed) => ({ ...request, seed, stopTokenIds: model.renderer.stopTokenIds }));
    const samples = await Array.fromAsync((await model.snapshot()).sample(requests));
    assert.equal(samples.length, requests.length);
    for (const sample of samples) {
      if (backend.capabilities.sampledValues !== true) {
        assert.equal(sample.values, undefined);
        continue;
      }
      const { promptIds } = requests[sample.request]!;
      const ids = [...promptIds, ...sample.ids];
      // The last id is read too. Its target is ignored.
      const datum = datumFromIds({ ids: [...ids, 0], mask: [0, ...ids.map(() => 1)] });
      const [result] = await model.forward([datum], values);
      assertClose(Float32Array.from(sample.values!), result!.values!.slice(promptIds.length - 1), tolerance);
    }
    if (backend.capabilities.sampledValues === true) {
      const sampled = samples.flatMap((sample) => sample.values!);
      assertBelow(100 * tolerance, Math.max(...sampled) - Math.min(...sampled));
    }
    const { valueHead: _, ...plain } = spec;
    const without = await (await backend.openModel(plain)).snapshot();
    for await (const sample of without.sample(requests)) assert.equal(sample.values, undefined);
  },
  "refuses invalid data": async ({ backend, open, spec }) => {
    await assert.rejects(backend.openModel({ ...spec, trainable: { type: "frozen" } }), {
      code: "config.invalid",
    });
    const model = await open();
    const refused = { code: /^(backend|policy)\.unsupported/ };
    const [datum] = exampleData(10);
    const { returns: _, ...withoutReturns } = datum!;
    const { oldValues: __, ...withoutOldValues } = datum!;
    const learn = (wrong: Datum) => model.forwardBackward([wrong], [{ type: "value", clip: 0.2 }]);
    await assert.rejects(learn(withoutReturns), refused);
    await assert.rejects(learn(withoutOldValues), refused);
    await assert.rejects(learn({ ...datum!, returns: new Float32Array(1) }), refused);
    const { valueHead: ___, ...plain } = spec;
    const without = await backend.openModel(plain);
    await assert.rejects(without.forward([datum!], values), { code: "backend.unsupported" });
    await assert.rejects(without.forwardBackward([datum!], [{ type: "value" }]), {
      code: "backend.unsupported",
    });
    assertBelow(without.parameterCount, model.parameterCount);
  },
};

async function trainBoth(model: Model, seed: number): Promise<void> {
  await model.forwardBackward(exampleData(20 + seed), both);
  await model.optimStep(adam, { stepId: model.version + 1 });
}

async function assertSame(a: Model, b: Model, tolerance: number): Promise<void> {
  const data = exampleData(30);
  const outputs = ["logprobs", "values"] as const;
  const [first, second] = [await a.forward(data, { outputs }), await b.forward(data, { outputs })];
  for (const [i, result] of first.entries()) {
    for (const name of outputs) assertClose(result[name]!, second[i]![name]!, tolerance);
  }
}

async function openTrainedValues(open: () => Promise<Model>): Promise<Model> {
  const model = await open();
  for (let i = 0; i < 3; i++) await trainBoth(model, i);
  return model;
}
