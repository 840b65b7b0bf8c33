import type { TrainingEvent } from "../../../reports/training/index.ts";
import { createRandom } from "../../../src/core/random/random.ts";

/** The events of an artificial GRPO run that learns. */
export function sampleRun(options: {
  readonly steps: number;
  readonly seed?: number;
  readonly resumedFrom?: number;
  readonly stopAt?: number;
}): TrainingEvent[] {
  const { steps, seed = 1, resumedFrom = 0, stopAt = steps } = options;
  const random = createRandom(seed);
  const share = (step: number): number => 1 / (1 + Math.exp(-(step / steps - 0.35) * 9));
  const evaluate = (step: number): TrainingEvent => {
    const accuracy = Math.round(500 * (0.04 + 0.92 * share(step))) / 500;
    return {
      type: "evaluation",
      step,
      split: "test[:500]",
      metrics: { accuracy, "reward/mean": accuracy, "episodes/count": 500, "episodes/unscored": 0 },
    };
  };
  const events: TrainingEvent[] = [
    {
      type: "run-start",
      algorithm: "grpo",
      environment: "math",
      model: { name: "llama (scratch)", trainableParameters: 3_412_480, device: "cpu" },
      seed,
      steps,
      resumedFrom,
    },
  ];
  if (resumedFrom === 0) events.push(evaluate(0));
  for (let step = resumedFrom + 1; step <= stopAt; step++) {
    const mean = Math.min(1, Math.max(0, 0.05 + 0.9 * share(step) + 0.05 * random.normal()));
    events.push({
      type: "step",
      step,
      steps,
      metrics: {
        "reward/mean": mean,
        "reward/std": Math.sqrt(mean * (1 - mean)),
        "loss/total": 0.02 * random.normal() - 0.01 * share(step),
        "kl/reference": 0.12 * share(step) * (1 + 0.2 * random.normal()),
        "entropy/sampled": 1.8 - 1.4 * share(step) + 0.05 * random.normal(),
        "optimizer/gradient-norm": Math.exp(0.3 * random.normal()) * (1 - 0.5 * share(step)),
        "optimizer/learning-rate": 1e-4 * Math.min(1, step / 20),
        "length/completion-mean": 40 - 22 * share(step) + random.normal(),
        "tokens/sampled-per-second": 2400 + 150 * random.normal(),
        "tokens/trained-per-second": 5200 + 300 * random.normal(),
        "tokens/trained": 4096,
        "tokens/sampled": 2048,
        "groups/without-signal": random.integer(0, 5) / 16,
        "time/rollout-ms": 800 + 50 * random.normal(),
        "time/update-ms": 1300 + 90 * random.normal(),
      },
      elapsedMs: (step - resumedFrom) * 2100,
      etaMs: (steps - step) * 2100,
    });
    if (step % Math.ceil(steps / 12) === 0) {
      const [a, b] = [random.integer(10, 99), random.integer(10, 99)];
      const right = random.next() < share(step);
      events.push({
        type: "sample",
        step,
        prompt: `Add the numbers. Answer with the sum alone.\nWhat is ${a} + ${b}?`,
        completion: right ? `${a + b}` : `Let me see: ${a} plus ${b} is ${a + b + random.integer(1, 9)}, I think.`,
        reward: right ? 1 : 0,
      });
    }
    if (step % Math.ceil(steps / 6) === 0) events.push(evaluate(step));
    if (step % Math.ceil(steps / 3) === 0) {
      events.push({ type: "checkpoint", step, path: `runs/math/checkpoints/step-${step}` });
    }
  }
  events.push({
    type: "run-end",
    reason: stopAt < steps ? "aborted" : "completed",
    step: stopAt,
    elapsedMs: (stopAt - resumedFrom) * 2100,
    checkpoint: `runs/math/checkpoints/step-${stopAt}`,
  });
  return events;
}

/** Returns an array as an async iterable, with each event in a separate macrotask. */
export async function* replay(events: Iterable<TrainingEvent>): AsyncGenerator<TrainingEvent, void, undefined> {
  for (const event of events) {
    await Promise.resolve();
    yield event;
  }
}
