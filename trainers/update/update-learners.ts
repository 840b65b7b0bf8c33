import { deriveSeed } from "../../src/core/random/random.ts";
import { sum } from "../../src/core/statistics.ts";
import type { ActivityMeter } from "../../src/core/training-progress.ts";
import type { AdamParams } from "../backend/training-backend.ts";
import type { CriticSample, StepExperience } from "../credit/index.ts";
import type { TrainingSample } from "../data/training-sample.ts";
import type { Learner } from "../run/learners.ts";
import type { TrainingRun } from "../run/training-run.ts";
import { creditContext } from "./credit-context.ts";
import { staleCap } from "./importance-weights.ts";
import { updateCritic } from "./update-critic.ts";
import { updatePolicy } from "./update-policy.ts";

/** The part of a run that an update needs. */
type UpdatedRun = Pick<TrainingRun, "activity" | "algorithm" | "config" | "learners" | "signal">;

/**
 * Assigns credit to the episodes of a step and takes the optimizer steps of all learners and critics. Returns the
 * metrics. With several learners, these are means over the learners, and each learner's own metrics under
 * `agents/<learner>/`.
 */
export async function updateLearners(
  run: UpdatedRun,
  options: { readonly experience: StepExperience; readonly step: number; readonly optimizer: AdamParams },
): Promise<Record<string, number>> {
  const { algorithm, learners } = run;
  using meter = run.activity.begin({ activity: "learning", step: options.step, unit: "sequences" });
  const {
    samples: all,
    critics = [],
    metrics: counts,
  } = await algorithm.credit.assign(options.experience, creditContext(run, meter));
  const samples = algorithm.maskTruncated === true ? all.filter((sample) => !isCutOff(sample)) : all;
  const masked: Record<string, number> =
    samples === all || all.length === 0 ? {} : { "length/masked": 1 - samples.length / all.length };
  const perLearner = new Map<string, Record<string, number>>();
  for (const [index, learner] of learners.policies.entries()) {
    const own = samples.filter(({ agent }) => learner.agents.includes(agent));
    const metrics = await updatePolicy({ ...updateOptions(run, { ...options, learner, index }), meter, samples: own });
    perLearner.set(learner.name, metrics);
  }
  return {
    ...combined(perLearner),
    ...(await updateCritics(run, { ...options, critics, meter })),
    ...counts,
    ...masked,
  };
}

function isCutOff({ sequences }: TrainingSample): boolean {
  return sequences.some(({ cutOff }) => cutOff === true);
}

function updateOptions(
  run: UpdatedRun,
  options: { readonly step: number; readonly optimizer: AdamParams; readonly learner: Learner; readonly index: number },
) {
  const { algorithm, config, signal } = run;
  const { learner, index, step, optimizer } = options;
  const seed = index === 0 ? deriveSeed(config.seed, "update", step) : deriveSeed(config.seed, "update", step, index);
  return {
    model: learner.model,
    loss: algorithm.loss,
    // Samples of older weights are corrected by importance weights. The algorithm's own cap takes precedence.
    updates:
      config.rollout.maxStaleness > 0
        ? { ...algorithm.updates, importanceCap: algorithm.updates.importanceCap ?? staleCap }
        : algorithm.updates,
    optimizer,
    maxTokensPerMicroBatch: config.training.maxTokensPerMicroBatch,
    seed,
    reference: learner.reference,
    ...(signal === undefined || index > 0 ? {} : { signal }),
  };
}

async function updateCritics(
  run: UpdatedRun,
  options: {
    readonly critics: readonly CriticSample[];
    readonly step: number;
    readonly optimizer: AdamParams;
    readonly meter: ActivityMeter;
  },
): Promise<Record<string, number>> {
  const { algorithm, config, learners } = run;
  const { critic } = algorithm.credit;
  if (critic === undefined || critic.type === "shared") return {};
  const learningRate = options.optimizer.learningRate * (critic.learningRateScale ?? 1);
  const optimizer = { ...options.optimizer, learningRate };
  const perCritic = new Map<string, Record<string, number>>();
  const models = [
    ...learners.policies.map(({ name, critic: model }) => [name, model] as const),
    ["team", learners.teamCritic] as const,
  ];
  for (const [name, model] of models) {
    if (model === undefined) continue;
    const metrics = await updateCritic({
      model,
      samples: options.critics.filter((sample) => sample.critic === name),
      optimizer,
      updates: algorithm.updates,
      clip: critic.clip,
      maxTokensPerMicroBatch: config.training.maxTokensPerMicroBatch,
      seed: deriveSeed(config.seed, "critic update", options.step),
      meter: options.meter,
    });
    perCritic.set(name, metrics);
  }
  const entries = Object.entries(combined(perCritic));
  return Object.fromEntries(
    entries.flatMap(([name, value]) => (name in criticMetrics ? [[criticMetrics[name], value]] : [])),
  );
}

/** The metrics of a critic's update that are reported, with their new names. */
const criticMetrics: Readonly<Record<string, string>> = {
  "loss/total": "critic/loss",
  "optimizer/gradient-norm": "critic/gradient-norm",
  "value/explained-variance": "value/explained-variance",
};

const summed: readonly string[] = ["tokens/trained", "optimizer/steps"];

/**
 * Combines the metrics of several learners: sums of counts, means of the rest, and each learner's own. A single record
 * is returned unchanged.
 */
function combined(records: ReadonlyMap<string, Readonly<Record<string, number>>>): Record<string, number> {
  const all = [...records.values()];
  if (all.length === 0) return {};
  if (all.length === 1) return { ...all[0]! };
  const names = new Set(all.flatMap((record) => Object.keys(record)));
  const together: Record<string, number> = {};
  for (const name of names) {
    const values = all.flatMap((record) => record[name] ?? []);
    together[name] = sum(values) / (summed.includes(name) ? 1 : values.length);
  }
  for (const [learner, record] of records) {
    for (const [name, value] of Object.entries(record)) together[`agents/${learner}/${name}`] = value;
  }
  return together;
}
