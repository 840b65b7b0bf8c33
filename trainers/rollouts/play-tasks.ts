import type { AgentId } from "../../src/contract/action.ts";
import type { Policy } from "../../src/contract/policy.ts";
import type { TaskEntry } from "../../src/contract/taskset.ts";
import { collectGroups } from "../../src/core/rollout/collect-groups.ts";
import { jointRollout } from "../../src/core/rollout/joint-rollout.ts";
import type { JointShape } from "../../src/core/rollout/joint-shape.ts";
import { rollout } from "../../src/core/rollout/rollout.ts";
import type { TraceWriter } from "../../src/core/trace/trace-writer.ts";
import type { ActivityMeter } from "../../src/core/training-progress.ts";
import { rolloutLimits } from "../config/training-config.ts";
import type { PlayedGroup } from "../credit/index.ts";
import { trainingGroup } from "../data/training-group.ts";
import type { TrainingRun } from "../run/training-run.ts";
import { branching } from "./branching.ts";

/** The options of {@link playTasks}. */
export interface PlayTasksOptions {
  readonly policies: Readonly<Record<AgentId, Policy>>;
  readonly tasks: readonly TaskEntry[];
  readonly seed: number;
  /** Episodes per task, if episodes are independent. The algorithm's group size by default. */
  readonly groupSize?: number;
  readonly trace?: TraceWriter;
  /** Counts episodes, or tasks if joint actions branch. */
  readonly meter?: ActivityMeter;
}

/** The part of a run that decides between independent episodes and trees of joint actions. */
type BranchingRun = Pick<TrainingRun, "algorithm" | "environment" | "frozen">;

/** The part of a run that plays tasks. */
export type PlayingRun = BranchingRun & Pick<TrainingRun, "config" | "pool" | "signal">;

/** Returns the unit that is counted while a run plays. */
export function playedUnit(run: BranchingRun): "episodes" | "tasks" {
  return jointShape(run) === undefined ? "episodes" : "tasks";
}

/** Plays tasks as the run's algorithm requires: in independent episodes, or in trees of joint actions. */
export async function playTasks(run: PlayingRun, options: PlayTasksOptions): Promise<PlayedGroup[]> {
  const { config, algorithm, pool, signal } = run;
  const { actor, terminationThreshold } = algorithm.rollout;
  const { groupSize = algorithm.rollout.groupSize, trace, meter } = options;
  const { sampling } = config;
  const common = {
    environment: pool,
    tasks: options.tasks,
    policies: options.policies,
    concurrency: config.rollout.concurrency,
    limits: rolloutLimits(config.rollout),
    // Demonstrations were not sampled. They are trained on at temperature 1, over all tokens.
    sampling: actor === "policy" ? { ...sampling, supports: true } : { temperature: 1, maxTokens: sampling.maxTokens },
    seed: options.seed,
    signal,
  };
  const traced = { ...common, trace };
  const shape = jointShape(run);
  if (shape !== undefined) {
    meter?.expect(options.tasks.length);
    const played: PlayedGroup[] = [];
    for await (const tree of jointRollout({ ...traced, shape })) {
      meter?.add(1);
      played.push({ group: trainingGroup({ task: tree.task, episodes: tree.episodes }), tree });
    }
    return played;
  }
  const needsGreedy = algorithm.credit.needsGreedy === true;
  meter?.expect(options.tasks.length * (groupSize + (needsGreedy ? 1 : 0)));
  const onEpisode = (): void => meter?.add(1);
  const ending = terminationThreshold === undefined ? {} : { terminationThreshold, partners: Object.keys(run.frozen) };
  const rolledOut = await collectGroups(rollout({ ...traced, ...ending, groupSize }), { onEpisode });
  const groups = rolledOut.map(trainingGroup);
  if (!needsGreedy) return groups.map((group) => ({ group }));
  const greedySampling = { ...common.sampling, temperature: 0 };
  const greedy = await collectGroups(rollout({ ...common, ...ending, groupSize: 1, sampling: greedySampling }), {
    onEpisode,
  });
  return groups.map((group, i) => ({ group, greedy: greedy[i]! }));
}

function jointShape({ algorithm, environment, frozen }: BranchingRun): JointShape | undefined {
  return branching(algorithm, { spec: environment.spec, frozen: Object.keys(frozen) });
}
