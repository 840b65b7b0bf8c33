/*
 * The training loop, written out for those who want to change it: play, compare, update. A small model from scratch
 * first imitates an expert, then learns from its own answers (GRPO). Only the policy and the loss differ between the
 * stages.
 *
 *   npm run example examples/training/train-by-hand.ts
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { collectGroups, demonstrationPolicy, evaluate, rollout } from "lyceum";
import { mathEnvironment } from "lyceum/environments";
import { createOnnxBackend } from "lyceum/onnx";
import {
  createTaskOrder,
  groupSamples,
  groupZScore,
  imitationSamples,
  type Loss,
  openModelPolicy,
  rolloutMetrics,
  trainingGroup,
  updatePolicy,
} from "lyceum/trainers";

const seed = 1;
const output = join("runs", "train-by-hand");
await rm(output, { recursive: true, force: true });
const environment = mathEnvironment({ tasks: "arithmetic", operations: ["addition"], digits: 1, answerOnly: true });
const sampling = { temperature: 1, maxTokens: 4 };
const imitate: Loss = { terms: [{ type: "crossEntropy" }], aggregation: "token-mean" };
const reinforce: Loss = { terms: [{ type: "ppo", clipLow: 0.2, clipHigh: 0.2 }], aggregation: "token-mean" };

// A model this small gains nothing from more threads.
await using backend = await createOnnxBackend({ device: "cpu", threads: 1 });
const model = await backend.openModel({
  source: {
    type: "scratch",
    seed,
    config: {
      model_type: "llama",
      vocab_size: 263, // the byte tokenizer's vocabulary
      hidden_size: 64,
      intermediate_size: 256,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      max_position_embeddings: 64,
      initializer_range: 0.08,
      tie_word_embeddings: true,
    },
  },
  trainable: { type: "full" },
});
const expert = demonstrationPolicy({ environment, renderer: model.renderer });
const order = createTaskOrder(await environment.tasks("train"), { seed });
const optimizer = { learningRate: 2e-3, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };

for (let step = 1; step <= 100; step++) {
  const imitating = step <= 60;
  await using actor = await openModelPolicy(model);
  const groups = await collectGroups(
    rollout({
      environment,
      tasks: await order.take(16),
      policies: imitating ? expert : actor.policy,
      groupSize: imitating ? 1 : 8,
      sampling,
      seed: step,
    }),
  );
  // An advantage compares a reward with the other rewards of its group. Imitation needs none.
  const samples = groups
    .map(trainingGroup)
    .flatMap((group) => (imitating ? imitationSamples(group) : groupSamples(group, { estimator: groupZScore })));
  const updated = await updatePolicy({ model, samples, loss: imitating ? imitate : reinforce, optimizer });
  if (step % 10 !== 0) continue;

  let accuracy: number | undefined;
  const evaluation = evaluate({
    environment,
    split: "test",
    policies: actor.policy,
    sampling: { ...sampling, temperature: 0 },
    seed,
    folder: join(output, `step-${step}`),
  });
  for await (const event of evaluation) if (event.type === "end") accuracy = event.summary.metrics.accuracy?.value;
  const loss = updated["loss/total"]?.toFixed(3);
  const reward = rolloutMetrics(groups)["reward/mean"]?.toFixed(2);
  console.log(
    `step ${step} ${imitating ? "imitate" : "reinforce"}: loss ${loss}, reward ${reward}, held out ${accuracy?.toFixed(2)}`,
  );
}
console.log(`lyceum view ${output} shows the episodes of the evaluations`);
