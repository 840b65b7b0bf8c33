import { describe, expect, it } from "vitest";
import type { Datum } from "../../trainers/backend/datum.ts";
import type { Model } from "../../trainers/backend/training-backend.ts";
import type { TrainingSample } from "../../trainers/data/training-sample.ts";
import type { LossAggregation } from "../../trainers/losses/loss-aggregation.ts";
import { updatePolicy } from "../../trainers/update/update-policy.ts";
import { createBigramBackend } from "./bigram-backend.ts";

const optimizer = { learningRate: 0.1, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0 };
const openModel = (type: "full" | "frozen" = "full"): Promise<Model> =>
  createBigramBackend().openModel({ source: { type: "scratch", config: {}, seed: 0 }, trainable: { type } });

/** Creates samples with the given numbers of sampled tokens, after a prompt of two. */
function samples(lengths: readonly number[], advantage?: number): TrainingSample[] {
  return lengths.map((length, i) => ({
    agent: "agent",
    ...(advantage === undefined ? {} : { advantage }),
    sequences: [
      {
        agent: "agent",
        ids: Array.from({ length: length + 2 }, (_, t) => 40 + ((7 * i + 3 * t) % 50)),
        mask: Array.from({ length: length + 2 }, (_, t) => (t < 2 ? 0 : 1)),
        logprobs: Array.from({ length: length + 2 }, (_, t) => (t < 2 ? 0 : -5)),
        turns: Array.from({ length: length + 2 }, () => 0),
        temperature: 1,
        weightsVersion: 0,
      },
    ],
  }));
}

/** Records every call of `forwardBackward`, and the maximum number of tokens that it asks for. */
function recorded(model: Model): { model: Model; calls: (readonly Datum[])[]; limits: (number | undefined)[] } {
  const calls: (readonly Datum[])[] = [];
  const limits: (number | undefined)[] = [];
  const forwardBackward = model.forwardBackward.bind(model);
  model.forwardBackward = (data, terms, options) => {
    calls.push(data);
    limits.push(options?.maxTokensPerMicroBatch);
    return forwardBackward(data, terms, options);
  };
  return { model, calls, limits };
}

describe("updatePolicy", () => {
  const uniform = Math.log(263);

  it.each<[LossAggregation, number]>([
    ["token-mean", uniform],
    ["sequence-mean", uniform],
    [{ fixedLength: 4 }, (uniform * (2 + 4 + 6)) / (3 * 4)],
  ])("averages a cross-entropy by %s", async (aggregation, expected) => {
    const metrics = await updatePolicy({
      model: await openModel(),
      samples: samples([2, 4, 6]),
      loss: { terms: [{ type: "crossEntropy" }], aggregation },
      optimizer,
    });
    expect(metrics["loss/total"]).toBeCloseTo(expected, 5);
    expect(metrics["tokens/trained"]).toBe(12);
    expect(metrics["optimizer/steps"]).toBe(1);
    expect(metrics["ratio/max"]).toBeUndefined();
  });

  it("passes all data of an optimizer step to the backend, which splits them without changing the result", async () => {
    const loss = { terms: [{ type: "crossEntropy" }], aggregation: "token-mean" } as const;
    const whole = recorded(await openModel());
    const parts = recorded(await openModel());
    const first = await updatePolicy({ model: whole.model, samples: samples([2, 4, 6, 3]), loss, optimizer });
    const second = await updatePolicy({
      model: parts.model,
      samples: samples([2, 4, 6, 3]),
      loss,
      optimizer,
      maxTokensPerMicroBatch: 10,
    });
    for (const { calls } of [whole, parts]) expect(calls.map((data) => data.length)).toEqual([4]);
    expect(whole.limits).toEqual([undefined]);
    expect(parts.limits).toEqual([10]);
    expect(second["loss/total"]).toBeCloseTo(first["loss/total"]!, 6);
    expect(second["optimizer/gradient-norm"]).toBeCloseTo(first["optimizer/gradient-norm"]!, 6);
  });

  it("takes epochs x minibatches steps, with each sample once per epoch", async () => {
    const { model, calls } = recorded(await openModel());
    const updates = { epochs: 2, minibatches: 3 };
    const loss = { terms: [{ type: "ppo", clipLow: 0.2, clipHigh: 0.2 }], aggregation: "sequence-mean" } as const;
    const metrics = await updatePolicy({ model, samples: samples([1, 2, 3, 4, 5, 6, 7], 1), loss, optimizer, updates });
    expect(metrics["optimizer/steps"]).toBe(6);
    expect(model.version).toBe(6);
    expect(metrics["tokens/trained"]).toBe(2 * 28);
    const lengths = calls.map((data) => data.map(({ tokens }) => tokens.length));
    for (const epoch of [lengths.slice(0, 3), lengths.slice(3)]) {
      expect(epoch.flat().toSorted((a, b) => a - b)).toEqual([2, 3, 4, 5, 6, 7, 8]);
    }
    expect(lengths.slice(0, 3)).not.toEqual(lengths.slice(3));
    for (const data of calls) {
      const total = data.flatMap(({ lossMask }) => [...lossMask]).reduce((a, b) => a + b, 0);
      expect(total).toBeCloseTo(1, 5);
    }
  });

  it("takes at most as many steps as samples, and none without samples", async () => {
    const model = await openModel();
    const loss = { terms: [{ type: "crossEntropy" }], aggregation: "token-mean" } as const;
    const updates = { epochs: 1, minibatches: 8 };
    await updatePolicy({ model, samples: samples([2, 3]), loss, optimizer, updates });
    expect(model.version).toBe(2);
    expect(await updatePolicy({ model, samples: [], loss, optimizer, updates })).toEqual({
      "optimizer/steps": 0,
      "tokens/trained": 0,
    });
    expect(model.version).toBe(2);
  });

  it("reports ratios, clipping and divergences", async () => {
    // The model is uniform and the sampler's logprob was -5: every ratio is e^5 / 263.
    const ratio = Math.exp(5) / 263;
    const d = Math.log(ratio);
    const loss = {
      terms: [
        { type: "ppo", clipLow: 0.2, clipHigh: 0.2 },
        { type: "kl", estimator: "k3", weight: 0.5 },
      ],
      aggregation: "token-mean",
    } as const;
    const metrics = await updatePolicy({
      model: await openModel(),
      reference: await openModel("frozen"),
      samples: samples([2, 4], -1),
      loss,
      optimizer,
    });
    expect(metrics["ratio/max"]).toBeCloseTo(ratio, 5);
    expect(metrics["ratio/clip-fraction"]).toBe(1);
    expect(metrics["kl/behaviour"]).toBeCloseTo(ratio - 1 - d, 5);
    expect(metrics["kl/reference"]).toBeCloseTo(0, 6);
    expect(metrics["loss/ppo"]).toBeCloseTo(0.8, 5);
    expect(metrics["loss/kl"]).toBeCloseTo(0, 6);
    expect(metrics["loss/total"]).toBeCloseTo(0.8, 5);
  });

  it("refuses a KL term without a reference", async () => {
    const loss = { terms: [{ type: "kl", estimator: "k2" }], aggregation: "token-mean" } as const;
    await expect(
      updatePolicy({ model: await openModel(), samples: samples([2], 1), loss, optimizer }),
    ).rejects.toMatchObject({ code: "config.invalid" });
  });
});
