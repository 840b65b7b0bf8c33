import { rm } from "node:fs/promises";
import type { JsonObject } from "../../src/contract/json.ts";
import { deriveSeed } from "../../src/core/random/random.ts";
import { rolloutLimits } from "../config/training-config.ts";
import { openPlayers } from "../models/open-policy.ts";
import type { TrainingRun } from "../run/training-run.ts";
import { evaluatePolicies } from "./evaluate-policies.ts";
import { evaluationFolder } from "./evaluation-folders.ts";

/** The part of a run that an evaluation needs. */
type EvaluatedRun = Pick<
  TrainingRun,
  | "activity"
  | "config"
  | "environment"
  | "frozen"
  | "heldOut"
  | "identity"
  | "learners"
  | "opponent"
  | "output"
  | "pool"
  | "programs"
  | "progress"
  | "signal"
>;

/**
 * Evaluates the current weights of a run on its held-out tasks and stores the evaluation in the run's folder. Returns
 * and throws as {@link evaluatePolicies}. Replaces an earlier evaluation of the step: it was interrupted, or a resumed
 * run repeats the step.
 */
export async function evaluateRun(run: EvaluatedRun): ReturnType<typeof evaluatePolicies> {
  const { config, environment, pool, progress, heldOut, opponent, frozen, identity, output, signal } = run;
  const { split, temperature, episodesPerTask } = config.evaluation;
  const { id: _, ...environmentOptions } = (identity as { readonly environment: JsonObject }).environment;
  using meter = run.activity.begin({ activity: "evaluating", step: progress.step, unit: "episodes" });
  meter.expect(heldOut.length * episodesPerTask * (opponent === undefined ? 1 : 2));
  await using players = await openPlayers(run, { onTokens: meter.addTokens });
  const folder = evaluationFolder(output, progress.step);
  await rm(folder, { recursive: true, force: true });
  return await evaluatePolicies({
    environment,
    environmentOptions,
    pool,
    tasks: heldOut,
    split: split!,
    policies: players.policies,
    opponent,
    frozen: Object.keys(frozen),
    samples: episodesPerTask,
    concurrency: config.rollout.concurrency,
    limits: rolloutLimits(config.rollout),
    sampling: { ...config.sampling, temperature },
    seed: deriveSeed(config.seed, "evaluation"),
    folder,
    onEpisode: () => meter.add(1),
    signal,
  });
}
