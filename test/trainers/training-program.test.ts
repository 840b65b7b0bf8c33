import { expect, it } from "vitest";
import { collectGroups } from "../../src/core/rollout/collect-groups.ts";
import { rollout } from "../../src/core/rollout/rollout.ts";
import {
  createTaskOrder,
  groupSamples,
  groupZScore,
  openModelPolicy,
  rolloutMetrics,
  trainingGroup,
  updatePolicy,
} from "../../trainers/index.ts";
import { createBigramBackend } from "./bigram-backend.ts";
import { letterEnvironment } from "./letter-environment.ts";

it("the parts combine into a training program of a few lines", async () => {
  const environment = letterEnvironment();
  await using backend = createBigramBackend();
  const rewards: number[] = [];

  const model = await backend.openModel({
    source: { type: "scratch", config: {}, seed: 1 },
    trainable: { type: "full" },
  });
  const order = createTaskOrder(await environment.tasks("train"), { seed: 1 });
  for (let seed = 1; seed <= 30; seed++) {
    await using actor = await openModelPolicy(model);
    const tasks = await order.take(8);
    const sampling = { temperature: 1, maxTokens: 1 };
    const groups = await collectGroups(
      rollout({ environment, tasks, policies: actor.policy, groupSize: 8, sampling, seed }),
    );
    const samples = groups.flatMap((group) => groupSamples(trainingGroup(group), { estimator: groupZScore }));
    const loss = { terms: [{ type: "policyGradient" }], aggregation: "token-mean" } as const;
    const optimizer = { learningRate: 0.6, beta1: 0.9, beta2: 0.99, epsilon: 1e-3, weightDecay: 0 };
    await updatePolicy({ model, samples, loss, optimizer });
    rewards.push(rolloutMetrics(groups)["reward/mean"]!);
  }

  expect(rewards[0]).toBeLessThan(0.4);
  expect(rewards.at(-1)).toBeGreaterThan(0.8);
});
