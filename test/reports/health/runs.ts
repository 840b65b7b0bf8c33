import {
  defaultHealthSettings,
  type HealthSettings,
  initialHealthState,
  updateHealth,
} from "../../../reports/health/index.ts";
import type { StepEvent, TrainingEvaluationEvent, TrainingWarningEvent } from "../../../src/contract/training-event.ts";
import { createRandom } from "../../../src/core/random/random.ts";

/** The metrics of a step of a healthy run. */
export const healthy = {
  "reward/mean": 0.4,
  "reward/std": 0.49,
  "reward/component/correct": 0.35,
  "reward/component/format": 0.05,
  "kl/behaviour": 0.0004,
  "entropy/sampled": 0.6,
  "groups/without-signal": 0.3,
  "groups/solved": 0.1,
  "groups/duplicates": 0.1,
  "episodes/unscored": 0,
  "episodes/truncated": 0,
  "length/cut-off": 0.02,
  "length/completion-mean": 120,
  "tokens/sampled": 4000,
} as const;

/** A step of a healthy run, with some metrics replaced. */
export function stepEvent(step: number, metrics: Readonly<Record<string, number>> = {}): StepEvent {
  return { type: "step", step, steps: 10_000, metrics: { ...healthy, ...metrics }, elapsedMs: step, etaMs: 1 };
}

/** An evaluation of 200 episodes. */
export function evaluation(
  step: number,
  reward: number,
  metrics: Readonly<Record<string, number>> = {},
): TrainingEvaluationEvent {
  const spread = Math.sqrt(reward * (1 - reward));
  const rest = { "reward/std": spread, "episodes/count": 200, accuracy: reward, ...metrics };
  return { type: "evaluation", step, split: "test", metrics: { "reward/mean": reward, ...rest } };
}

/** Returns the warnings of a history, without those that report an end. */
export function warningsOf(
  events: Iterable<StepEvent | TrainingEvaluationEvent>,
  settings: Partial<HealthSettings> = {},
): TrainingWarningEvent[] {
  return healthEvents(events, settings).filter(({ over }) => over === undefined);
}

/** Returns all health warnings of a history. */
export function healthEvents(
  events: Iterable<StepEvent | TrainingEvaluationEvent>,
  settings: Partial<HealthSettings> = {},
): TrainingWarningEvent[] {
  let health = initialHealthState;
  const all: TrainingWarningEvent[] = [];
  for (const event of events) {
    const { state, warnings } = updateHealth(health, event, { ...defaultHealthSettings, ...settings });
    health = state;
    all.push(...warnings);
  }
  return all;
}

/** Steps 1 to `count` with metrics by step, each of which varies by a relative amount. */
export function steps(
  count: number,
  metrics: (step: number) => Readonly<Record<string, number>> = () => ({}),
  noise: { readonly seed: number; readonly share: number } = { seed: 1, share: 0 },
): StepEvent[] {
  const random = createRandom(noise.seed);
  return Array.from({ length: count }, (_, i) => {
    const all = { ...healthy, ...metrics(i + 1) };
    const wavering = Object.entries(all).map(([name, value]) => [name, value * (1 + noise.share * random.normal())]);
    return stepEvent(i + 1, Object.fromEntries(wavering));
  });
}
