import { afterAll, beforeAll, expect, it } from "vitest";
import type { LossTerm } from "../../../trainers/backend/loss-term.ts";
import type { Model, TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { createTinkerBackend } from "../../../trainers/backends/tinker/index.ts";
import { adam, assertClose, exampleData } from "../../../trainers/testing/model-subject.ts";
import { sampleOf } from "../../tier.ts";
import { type ServedModel, servedModel } from "./served-model.ts";
import type { TinkerServerOptions } from "./tinker-server.ts";

let served: ServedModel;
beforeAll(async () => {
  served = await servedModel();
});
afterAll(() => served[Symbol.asyncDispose]());

const losses: readonly (readonly LossTerm[])[] = [
  [{ type: "crossEntropy", weight: 0.5 }],
  [{ type: "policyGradient" }],
  [{ type: "importanceSampling" }],
  [{ type: "ppo", clipLow: 0.2, clipHigh: 0.28 }],
  [{ type: "ppo", clipLow: 0.2, clipHigh: 0.28, weight: -0.5 }],
  [{ type: "cispo", clipLow: 0.3, clipHigh: 0.28 }],
  [{ type: "kl", estimator: "k1" }],
  [{ type: "kl", estimator: "k3", weight: 0.5 }],
  [
    { type: "ppo", clipLow: 0.2, clipHigh: 0.2, weight: 2 },
    { type: "kl", estimator: "k2", weight: 0.1 },
  ],
];

/** Servers that differ in what they make of losses and in the losses that they have. */
const servers: readonly Omit<TinkerServerOptions, "backend" | "source">[] = [
  { rule: "sum" },
  { rule: "mean" },
  { rule: "sum", binary: true },
  { rule: "sum", losses: ["cross_entropy", "importance_sampling"] },
  { rule: "mean", losses: ["cross_entropy", "importance_sampling"] },
];

const plain = { ...adam, clipNorm: Infinity };

/** Takes two steps. The first one moves the weights away from the data's behaviour log-probabilities. */
async function twoSteps(
  backend: TrainingBackend,
  terms: readonly LossTerm[],
): Promise<{ model: Model; found: number[] }> {
  const trainable = { type: "lora", lora: { rank: 4, seed: 3 } } as const;
  const model = await backend.openModel({ source: served.source, trainable });
  const found: number[] = [];
  for (const [index, step] of [[{ type: "crossEntropy" } as const], terms].entries()) {
    const { loss } = await model.forwardBackward(exampleData(index), step);
    found.push(loss, (await model.optimStep(plain, { stepId: index + 1 })).gradientNorm);
  }
  return { model, found };
}

it.each(sampleOf(servers, 2))("has the gradient of every loss of the embedded engine: %o", async (options) => {
  const server = await served.serve(options);
  await using backend = await createTinkerBackend({ url: server.url, times: { delayMs: 1 } });
  for (const terms of losses) {
    const local = await twoSteps(served.engine, terms);
    const remote = await twoSteps(backend, terms);
    assertClose(Float32Array.from(remote.found), Float32Array.from(local.found), 2e-3);
    const outputs = { outputs: ["logprobs"] } as const;
    const expected = await local.model.forward(exampleData(7), outputs);
    for (const [i, { logprobs }] of (await remote.model.forward(exampleData(7), outputs)).entries()) {
      assertClose(logprobs!, expected[i]!.logprobs!, 1e-3);
    }
  }
  const sent = server.requests.filter(({ route }) => route === "forward_backward").map(({ body }) => body);
  // Every threshold is sent, because the defaults of servers differ.
  for (const { forward_backward_input: input } of sent) {
    const config = Object.keys(input.loss_fn_config ?? {});
    const clipped = ["ppo", "cispo"].includes(input.loss_fn);
    expect(config).toEqual(clipped ? ["clip_low_threshold", "clip_high_threshold"] : []);
  }
});

it("refuses a second pass before a step if the server averages, for its gradient would be wrong", async () => {
  const server = await served.serve({ rule: "mean" });
  await using backend = await createTinkerBackend({ url: server.url, times: { delayMs: 1 } });
  const model = await backend.openModel({
    source: served.source,
    trainable: { type: "lora", lora: { rank: 4 } },
  });
  await model.forwardBackward(exampleData(1), [{ type: "crossEntropy" }]);
  const again = model.forwardBackward(exampleData(2), [{ type: "crossEntropy" }]);
  await expect(again).rejects.toMatchObject({ code: "backend.unsupported" });
});
