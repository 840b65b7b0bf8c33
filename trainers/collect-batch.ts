import { LyceumError } from "../src/errors/index.ts";
import type { Policy } from "../src/policy/policy.ts";
import { deriveSeed } from "../src/random/random.ts";
import { collectGroups } from "../src/rollout/collect-groups.ts";
import type { Group } from "../src/rollout/episode.ts";
import { rollout } from "../src/rollout/rollout.ts";
import type { TaskEntry } from "../src/taskset/taskset.ts";
import { rolloutLimits, samplingSettings } from "./config/training-config.ts";
import { hasSignal } from "./data/training-sample.ts";
import { refuseFailure } from "./refuse-failure.ts";
import type { TrainingRun } from "./training-run.ts";

/** The groups of one step: all that were played, and those of them to train on. */
export interface Batch {
  readonly played: readonly Group[];
  readonly kept: readonly Group[];
}

/**
 * Plays one step's tasks. Where the algorithm drops groups without signal and resamples, further tasks fill the batch
 * up. Throws what failed the first episode when every episode failed: such a run would learn nothing.
 */
export async function collectBatch(run: TrainingRun, options: { policy: Policy; step: number }): Promise<Batch> {
  const { config, algorithm } = run;
  const { dropGroupsWithoutSignal, resampleRounds } = algorithm.rollout;
  const { batchSize } = config.training;
  const played: Group[] = [];
  const kept: Group[] = [];
  for (let round = 0; round <= resampleRounds && kept.length < batchSize; round++) {
    const tasks = await run.tasks.take(batchSize - kept.length, run.signal === undefined ? {} : { signal: run.signal });
    refuseHeldOut(run, tasks);
    const groups = await playBatch(run, { ...options, tasks, round });
    refuseFailure(groups);
    played.push(...groups);
    kept.push(...(dropGroupsWithoutSignal ? groups.filter(hasSignal) : groups));
  }
  return { played, kept };
}

function playBatch(
  run: TrainingRun,
  options: { policy: Policy; step: number; round: number; tasks: readonly TaskEntry[] },
): Promise<Group[]> {
  const { config, algorithm, pool, trace, signal } = run;
  const sampling = samplingSettings(config.sampling);
  return collectGroups(
    rollout({
      environment: pool,
      tasks: options.tasks,
      policies: options.policy,
      groupSize: algorithm.rollout.groupSize,
      concurrency: config.rollout.concurrency,
      limits: rolloutLimits(config.rollout),
      // Demonstrations were not sampled at any temperature: they are learnt at 1.
      sampling: algorithm.rollout.actor === "policy" ? sampling : { ...sampling, temperature: 1 },
      seed: deriveSeed(config.seed, "rollout", options.step, options.round),
      ...(trace === undefined ? {} : { trace }),
      ...(signal === undefined ? {} : { signal }),
    }),
  );
}

function refuseHeldOut(run: TrainingRun, tasks: readonly TaskEntry[]): void {
  const overlap = tasks.find((task) => run.heldOut.some(({ hash }) => hash === task.hash));
  if (overlap === undefined) return;
  throw new LyceumError({
    code: "data.malformed",
    message: `Task ${overlap.id} of ${run.config.tasks.split} is also in ${run.config.evaluation.split}.`,
    hint: "Evaluate on tasks that training never sees: use another split, or slices that do not overlap.",
    data: { id: overlap.id, hash: overlap.hash },
  });
}
