import type { AgentId } from "../../src/contract/action.ts";
import type { Episode, Group } from "../../src/contract/episode.ts";
import type { TaskEntry } from "../../src/contract/taskset.ts";
import type { ProbeEvent } from "../../src/contract/training-event.ts";
import { replayPolicy } from "../../src/core/policy/replay-policy.ts";
import { deriveSeed } from "../../src/core/random/random.ts";
import { sum } from "../../src/core/statistics.ts";
import type { TrainingConfig } from "../config/training-config.ts";
import type { PlayedGroup } from "../credit/index.ts";
import { ofTrainedAgents } from "../credit/trained-agents.ts";
import { agentsOf, hasSignal, rewardsOf } from "../credit/trajectory.ts";
import { playedMetrics } from "../metrics/played-metrics.ts";
import { openPlayers } from "../models/open-policy.ts";
import { processRewards } from "../rewards/process-rewards.ts";
import { batchSeed, type PlayedBatch, type PlayingRun, playedUnit, playTasks } from "../rollouts/collect-batch.ts";
import { throwIfAllFailed } from "../rollouts/failed-batch.ts";
import { firstLearner, sampleOf } from "../rollouts/sample-event.ts";
import type { TrainingRun } from "../run/training-run.ts";
import { probeAdvice } from "./probe-advice.ts";

/** The part of a run that a probe plays with. */
type ProbedRun = PlayingRun &
  Pick<TrainingRun, "activity" | "learners" | "namedGroups" | "programs" | "rewardProcessors" | "tasks">;

/** The result of a probe. */
export interface Probed {
  readonly probe: ProbeEvent;
  /** The episodes that were played, and the first one played once more. */
  readonly episodes: readonly Episode[];
}

/** Fewer episodes of a task say little about whether its rewards differ. */
const leastEpisodes = 4;

/**
 * Plays the first tasks of the first batch as the first step would, and reports whether their rewards have a signal.
 * Nothing is written to the trace. If every episode fails, throws the error of the first.
 */
export async function probeSignal(run: ProbedRun, { groups: count }: TrainingConfig["probe"]): Promise<Probed> {
  const { config, algorithm, signal } = run;
  const started = performance.now();
  using meter = run.activity.begin({ activity: "probing", step: 0, unit: playedUnit(run) });
  const groupCount = Math.min(count, config.training.batchSize);
  const tasks = await run.tasks.peek(groupCount, { signal });
  await using actors = await openPlayers(run, { onTokens: meter.addTokens });
  const seed = deriveSeed(config.seed, "probe");
  const all = await playTasks(run, {
    policies: actors.policies,
    tasks,
    seed,
    groupSize: Math.max(algorithm.rollout.groupSize, leastEpisodes),
    meter,
  });
  throwIfAllFailed(all.map(({ group }) => group));
  const elapsedMs = performance.now() - started;
  return await judgeSignal(run, { all, first: tasks[0], seed, elapsedMs });
}

/**
 * Reports whether the rewards of the first step's batch have a signal. The run is not affected: no tasks or random
 * numbers are consumed, and nothing is written to the trace.
 */
export function probeBatch(
  run: ProbedRun,
  { batch, first }: { readonly batch: PlayedBatch; readonly first: TaskEntry | undefined },
): Promise<Probed> {
  return judgeSignal(run, { all: batch.played, first, seed: batchSeed(run.config, 1), elapsedMs: batch.rolloutMs });
}

async function judgeSignal(
  run: ProbedRun,
  played: {
    /** The groups, with that of the task `first` in front. */
    readonly all: readonly PlayedGroup[];
    readonly first: TaskEntry | undefined;
    readonly seed: number;
    readonly elapsedMs: number;
  },
): Promise<Probed> {
  const { all, first, seed, elapsedMs } = played;
  const { algorithm } = run;
  const frozen = new Set(Object.keys(run.frozen));
  const learnt = all.map((group) => ofTrainedAgents(group, frozen));
  const withSignal = groupsWithSignal(run, learnt);
  const metrics = playedMetrics(run, all);
  const { comparison = "group" } = algorithm.credit;
  const found = { groups: learnt.length, withSignal, comparison, metrics };
  const episodes = all.flatMap(({ group }) => group.episodes);
  const probe: ProbeEvent = {
    type: "probe",
    step: 0,
    ...found,
    elapsedMs,
    samples: bestAndWorst(
      all.map(({ group }) => group),
      frozen,
    ),
    advice: probeAdvice(run, { ...found, rewards: learnt.flatMap(allRewards) }),
  };
  return {
    probe,
    episodes: [...episodes, ...(await playedAgain(run, { task: first, seed, episodes: all[0]!.group.episodes }))],
  };
}

/**
 * Plays an episode once more with the same actions. If its rewards differ, the environment is not deterministic, which
 * a comparison of different answers does not show. Other environments, and trees of joint actions, are not repeated.
 */
async function playedAgain(
  run: PlayingRun,
  { task, seed, episodes }: { task: TaskEntry | undefined; seed: number; episodes: readonly Episode[] },
): Promise<readonly Episode[]> {
  const first = episodes.find(({ sampleIndex, status }) => sampleIndex === 0 && status !== "failed");
  if (!run.environment.spec.deterministic || first === undefined || task === undefined || playedUnit(run) === "tasks")
    return [];
  const recorded = await replayPolicy([first]);
  const policies = Object.fromEntries(Object.keys(first.agents).map((agent) => [agent, recorded]));
  const again = await playTasks(run, { policies, tasks: [task], seed, groupSize: 1 });
  return again.flatMap(({ group }) => group.episodes);
}

/** Returns the number of groups that have a signal in the processed rewards. */
function groupsWithSignal(
  { algorithm, rewardProcessors }: Pick<TrainingRun, "algorithm" | "rewardProcessors">,
  played: readonly PlayedGroup[],
): number {
  const { credit } = algorithm;
  const learnt = played.map((group) => processRewards(group, rewardProcessors));
  if (credit.comparison !== "batch") {
    return learnt.filter((group) => credit.hasSignal?.(group) ?? hasSignal(group.group)).length;
  }
  const rewards = new Map<string, Set<number>>();
  for (const { group } of learnt) {
    for (const agent of agentsOf(group)) {
      const known = rewards.get(agent) ?? new Set();
      for (const reward of rewardsOf(group, agent)) known.add(reward);
      rewards.set(agent, known);
    }
  }
  return [...rewards.values()].some(({ size }) => size > 1) ? learnt.length : 0;
}

function allRewards({ group }: PlayedGroup): number[] {
  return agentsOf(group).flatMap((agent) => rewardsOf(group, agent));
}

/** Returns samples of the episodes with the highest and the lowest reward. If all are equal, two of different tasks. */
function bestAndWorst(groups: readonly Group[], frozen: ReadonlySet<AgentId>): ProbeEvent["samples"] {
  const acted = groups.flatMap(({ episodes }) =>
    episodes.flatMap((episode) => {
      const learner = firstLearner(episode, frozen);
      return learner === undefined ? [] : [{ episode, learner, reward: rewardOf(episode, frozen) }];
    }),
  );
  if (acted.length === 0) return [];
  const sorted = acted.toSorted((a, b) => b.reward - a.reward);
  const samples = [sorted[0]!, sorted.at(-1)!].map(({ episode, learner }) => {
    const { messages: _, ...sample } = sampleOf(episode, learner);
    return sample;
  });
  const [best, worst] = samples;
  return JSON.stringify(best) === JSON.stringify(worst) ? samples.slice(1) : samples;
}

/** Returns the mean reward of the agents that learn. Those without one count as the lowest. */
function rewardOf({ agents }: Episode, frozen: ReadonlySet<AgentId>): number {
  const learners = Object.entries(agents).filter(([name, { turns }]) => !frozen.has(name) && turns.length > 0);
  const rewards = learners.map(([, { reward }]) =>
    reward.status === "scored" ? reward.value : Number.NEGATIVE_INFINITY,
  );
  return sum(rewards) / rewards.length;
}
