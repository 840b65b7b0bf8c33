import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Datum, datumFromIds } from "../../trainers/backend/datum.ts";
import type { LossTerm } from "../../trainers/backend/loss-term.ts";
import type { Model, ModelSpec, TrainingBackend } from "../../trainers/backend/training-backend.ts";
import type { BackendUnderTest } from "./backend-conformance.ts";
import { adam, exampleData, expectClose, relative } from "./conformance-data.ts";
import { valueLoss } from "./reference-losses/value-loss.ts";

const values = { outputs: ["values"] } as const;
const both: readonly LossTerm[] = [
  { type: "policyGradient", weight: 0.3 },
  { type: "value", clip: 0.2, weight: 0.5 },
];

/** Tests the contract of a model with a value head. A backend without one must refuse to open it. */
export function valueHeadConformance({ createBackend, tolerance }: BackendUnderTest, spec: ModelSpec): void {
  let backend: TrainingBackend;
  let offered: boolean;
  let folder: string;
  beforeAll(async () => {
    backend = await createBackend();
    offered = backend.capabilities.valueHead;
    folder = await mkdtemp(join(tmpdir(), "lyceum-values-"));
  });
  afterAll(async () => {
    await backend.close();
    await rm(folder, { recursive: true, force: true });
  });

  const open = (): Promise<Model> => backend.openModel(spec);
  const openTrained = async (): Promise<Model> => {
    const model = await open();
    for (let i = 0; i < 3; i++) await trainBoth(model, i);
    return model;
  };
  const valueHeadTest = (name: string, check: () => Promise<void>): void =>
    it(name, async ({ skip }) => {
      skip(!offered, "the backend has no value head");
      await check();
    });

  it("opens, or is refused if the backend has no value heads", async () => {
    if (offered) await (await open()).close();
    else await expect(open()).rejects.toMatchObject({ code: "backend.unsupported" });
    expect(backend.capabilities.losses.includes("value")).toBe(offered);
  });

  valueHeadTest("values every state at 0 before training", async () => {
    for (const result of await (await open()).forward(exampleData(1), values)) {
      expect(Object.keys(result)).toEqual(["values"]);
      expect(result.values!.every((value) => value === 0)).toBe(true);
    }
  });

  valueHeadTest("values a state by the tokens before it, and returns 0 where the loss mask is 0", async () => {
    const model = await openTrained();
    const [datum] = exampleData(2);
    await model.forwardBackward([datum!], [{ type: "value" }]);
    await model.optimStep(adam, { stepId: model.version + 1 });
    const { length } = datum!.tokens;
    const changed = { ...datum!, targets: datum!.targets.map((id) => (id === 40 ? 41 : 40)) };
    const cut = length - 2;
    const prefix = datumFromIds({ ids: [...datum!.tokens.slice(0, cut), 50], mask: new Array(cut + 1).fill(1) });
    const [whole, other, start] = await model.forward([datum!, changed, prefix], values);
    expectClose(other!.values!, whole!.values!, tolerance);
    for (const [t, weight] of datum!.lossMask.entries()) {
      if (weight === 0) expect(whole!.values![t]).toBe(0);
      else {
        expect(whole!.values![t]).not.toBe(0);
        if (t < cut) expect(Math.abs(whole!.values![t]! - start!.values![t]!)).toBeLessThanOrEqual(tolerance);
      }
    }
  });

  valueHeadTest("returns the same values in any batch", async () => {
    const model = await openTrained();
    const data = exampleData(3);
    const together = await model.forward(data, values);
    for (const [i, datum] of data.entries()) {
      const [alone] = await model.forward([datum], values);
      expectClose(alone!.values!, together[i]!.values!, tolerance);
    }
  });

  valueHeadTest("computes the reference formula of the value loss, clipped or not", async () => {
    const model = await openTrained();
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
      expect(relative(result.loss, expected)).toBeLessThan(20 * tolerance);
      expect(result.terms).toHaveLength(1);
      expect(result.logprobs).toEqual([]);
      for (const [i, found] of result.values!.entries()) expectClose(found, current[i]!.values!, tolerance);
    }
  });

  valueHeadTest(
    "gives what each of several terms gives alone, in their order, with log-probabilities and values",
    async () => {
      const model = await openTrained();
      const data = exampleData(5);
      const terms: LossTerm[] = [{ type: "value" }, { type: "crossEntropy" }, { type: "value", clip: 0.1 }];
      const together = await model.forwardBackward(data, terms);
      for (const [i, term] of terms.entries()) {
        const alone = await model.forwardBackward(data, [term]);
        expect(relative(together.terms[i]!, alone.loss)).toBeLessThan(20 * tolerance);
        expect(alone.values === undefined).toBe(term.type !== "value");
      }
      const current = await model.forward(data, { outputs: ["values", "logprobs"] });
      for (const [i, result] of current.entries()) {
        expectClose(together.values![i]!, result.values!, tolerance);
        expectClose(together.logprobs[i]!, result.logprobs!, tolerance);
      }
    },
  );

  valueHeadTest("has the same gradient for policy and value terms together as one after the other", async () => {
    const [together, apart] = [await openTrained(), await openTrained()];
    const data = exampleData(6);
    await together.forwardBackward(data, both);
    for (const term of both) await apart.forwardBackward(data, [term]);
    const [first, second] = [await together.optimStep(adam, { stepId: 9 }), await apart.optimStep(adam, { stepId: 9 })];
    expect(relative(first.gradientNorm, second.gradientNorm)).toBeLessThan(100 * tolerance);
    await expectSame(together, apart, 100 * tolerance);
  });

  valueHeadTest("learns given returns", async () => {
    const model = await open();
    const data = exampleData(7).slice(0, 2);
    const losses: number[] = [];
    for (let step = 1; step <= 60; step++) {
      losses.push((await model.forwardBackward(data, [{ type: "value" }])).loss);
      await model.optimStep({ ...adam, learningRate: 0.01, weightDecay: 0 }, { stepId: step });
    }
    expect(losses.at(-1)).toBeLessThan(0.2 * losses[0]!);
  });

  valueHeadTest("does not move a value that left the clip range towards its return", async () => {
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
    expect(await step(0.2)).toBe(0);
    expect(await step(1.2)).toBeGreaterThan(1);
  });

  valueHeadTest("repeats, saves and loads values exactly", async () => {
    const saved = await openTrained();
    const path = join(folder, "saved");
    await saved.save(path);
    const loaded = await open();
    await loaded.load(path);
    await expectSame(saved, loaded, 0);
    for (const model of [saved, loaded]) await trainBoth(model, 9);
    await expectSame(saved, loaded, 0);
    if (backend.capabilities.deterministic) {
      const again = await openTrained();
      await trainBoth(again, 9);
      await expectSame(saved, again, 0);
    }
  });

  valueHeadTest("samples according to its log-probabilities", async () => {
    const model = await openTrained();
    const request = { promptIds: [50, 60], settings: { temperature: 1, maxTokens: 8 }, seed: 3, stopTokenIds: [] };
    const [sample] = await Array.fromAsync((await model.snapshot()).sample([request]));
    const ids = [...request.promptIds, ...sample!.ids];
    const [result] = await model.forward([datumFromIds({ ids, mask: ids.map((_, i) => (i < 2 ? 0 : 1)) })], {
      outputs: ["logprobs"],
    });
    expectClose(result!.logprobs!.slice(1), Float32Array.from(sample!.logprobs), tolerance);
  });

  valueHeadTest("returns the values of sampled states equal to those of forward, if it supports this", async () => {
    const model = await openTrained();
    // States whose value was learned and in which the policy continues.
    const known = exampleData(20).map(({ tokens }) => [...tokens.slice(0, 3)]);
    const requests = [
      { promptIds: known[0]!, settings: { temperature: 1, maxTokens: 8 } },
      { promptIds: known[0]!, settings: { temperature: 0.5, maxTokens: 12 } },
      { promptIds: known[1]!, settings: { temperature: 1, maxTokens: 1 } },
      { promptIds: known[2]!, settings: { temperature: 0, maxTokens: 5 } },
    ].map((request, seed) => ({ ...request, seed, stopTokenIds: model.renderer.stopTokenIds }));
    const samples = await Array.fromAsync((await model.snapshot()).sample(requests));
    expect(samples).toHaveLength(requests.length);
    for (const sample of samples) {
      if (backend.capabilities.sampledValues !== true) {
        expect(sample.values).toBeUndefined();
        continue;
      }
      const { promptIds } = requests[sample.request]!;
      const ids = [...promptIds, ...sample.ids];
      // The last id is read too. Its target is ignored.
      const datum = datumFromIds({ ids: [...ids, 0], mask: [0, ...ids.map(() => 1)] });
      const [result] = await model.forward([datum], values);
      expectClose(Float32Array.from(sample.values!), result!.values!.slice(promptIds.length - 1), tolerance);
    }
    if (backend.capabilities.sampledValues === true) {
      const told = samples.flatMap((sample) => sample.values!);
      expect(Math.max(...told) - Math.min(...told)).toBeGreaterThan(100 * tolerance);
    }
    const { valueHead: _, ...plain } = spec;
    const without = await (await backend.openModel(plain)).snapshot();
    for await (const sample of without.sample(requests)) expect(sample).not.toHaveProperty("values");
  });

  valueHeadTest("refuses invalid data", async () => {
    await expect(backend.openModel({ ...spec, trainable: { type: "frozen" } })).rejects.toMatchObject({
      code: "config.invalid",
    });
    const model = await open();
    const refused = { code: expect.stringMatching(/^(backend|policy)\.unsupported/) };
    const [datum] = exampleData(10);
    const { returns: _, ...withoutReturns } = datum!;
    const { oldValues: __, ...withoutOldValues } = datum!;
    const learn = (wrong: Datum) => model.forwardBackward([wrong], [{ type: "value", clip: 0.2 }]);
    await expect(learn(withoutReturns)).rejects.toMatchObject(refused);
    await expect(learn(withoutOldValues)).rejects.toMatchObject(refused);
    await expect(learn({ ...datum!, returns: new Float32Array(1) })).rejects.toMatchObject(refused);
    const { valueHead: ___, ...plain } = spec;
    const without = await backend.openModel(plain);
    await expect(without.forward([datum!], values)).rejects.toMatchObject({ code: "backend.unsupported" });
    await expect(without.forwardBackward([datum!], [{ type: "value" }])).rejects.toMatchObject({
      code: "backend.unsupported",
    });
    expect(model.parameterCount).toBeGreaterThan(without.parameterCount);
  });
}

async function trainBoth(model: Model, seed: number): Promise<void> {
  await model.forwardBackward(exampleData(20 + seed), both);
  await model.optimStep(adam, { stepId: model.version + 1 });
}

async function expectSame(a: Model, b: Model, tolerance: number): Promise<void> {
  const data = exampleData(30);
  const outputs = ["logprobs", "values"] as const;
  const [first, second] = [await a.forward(data, { outputs }), await b.forward(data, { outputs })];
  for (const [i, result] of first.entries()) {
    for (const name of outputs) expectClose(result[name]!, second[i]![name]!, tolerance);
  }
}
