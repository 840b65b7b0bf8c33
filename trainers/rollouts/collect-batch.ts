import type { AgentId } from "../../src/contract/action.ts";
import type { AgentEpisode, Group } from "../../src/contract/episode.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { textMessage } from "../../src/contract/message.ts";
import type { Policy } from "../../src/contract/policy.ts";
import type { TaskEntry } from "../../src/contract/taskset.ts";
import { taskGroup } from "../../src/core/environment/task-group.ts";
import { requestRenderer } from "../../src/core/policy/render-prompt.ts";
import { deriveSeed } from "../../src/core/random/random.ts";
import { collectGroups } from "../../src/core/rollout/collect-groups.ts";
import { jointRollout } from "../../src/core/rollout/joint-rollout.ts";
import type { JointShape } from "../../src/core/rollout/joint-shape.ts";
import { rollout } from "../../src/core/rollout/rollout.ts";
import type { Renderer } from "../../src/core/tokens/renderer.ts";
import type { TraceWriter } from "../../src/core/trace/trace-writer.ts";
import type { ActivityMeter } from "../../src/core/training-progress.ts";
import { rolloutLimits, type TrainingConfig } from "../config/training-config.ts";
import type { PlayedGroup, StepExperience } from "../credit/index.ts";
import { ofTrainedAgents } from "../credit/trained-agents.ts";
import { hasSignal } from "../credit/trajectory.ts";
import { trainingGroup } from "../data/training-group.ts";
import { openActors } from "../models/open-policy.ts";
import { processRewards } from "../rewards/process-rewards.ts";
import type { TrainingRun } from "../run/training-run.ts";
import { branching } from "./branching.ts";
import { throwIfAllFailed } from "./failed-batch.ts";
import { fitEpisodes } from "./overlong-episodes.ts";

/** The batch of a step, with the values that a checkpoint after the step records. */
export interface PlayedBatch extends Batch {
  readonly taskCursor: number;
  readonly traceLength: number | undefined;
  /** With a curriculum: the number of tasks from which the batch was drawn. */
  readonly pool: number | undefined;
  readonly rolloutMs: number;
  /** The number of training steps between the weights that sampled the batch and the weights that learn from it. */
  readonly staleness: number;
}

/** Returns a run's batches, step by step. Closing it stops a batch that is being played ahead. */
export interface BatchSource extends AsyncDisposable {
  /** Plays the batch of the first step, which {@link BatchSource.next} then returns. */
  first(step: number): Promise<PlayedBatch>;
  next(step: number): Promise<PlayedBatch>;
}

/**
 * Opens the batches of a run. With `rollout.maxStaleness` 1, the next batch is played while a step learns. It is
 * sampled by the weights before that step, so it is one step old when it is used.
 */
export function openBatches(run: TrainingRun): BatchSource {
  const { steps } = run;
  const ahead = run.config.rollout.maxStaleness > 0;
  const stop = new AbortController();
  const signal = run.signal === undefined ? stop.signal : AbortSignal.any([run.signal, stop.signal]);
  const cancellable = ahead ? { ...run, signal } : run;
  let started: Promise<PlayedBatch> | undefined;
  const first = async (step: number): Promise<PlayedBatch> => {
    started ??= (await startBatch(cancellable, { step, staleness: 0 })).played;
    return started;
  };
  return {
    first,
    next: async (step) => {
      const batch = await first(step);
      started = undefined;
      if (ahead && step < steps) {
        started = (await startBatch(cancellable, { step: step + 1, staleness: 1 })).played;
        // The step that uses the batch reports the error.
        started.catch(() => {});
      }
      return batch;
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await started?.catch(() => {});
    },
  };
}

/** Takes a snapshot of the current weights and starts to play. */
async function startBatch(
  run: TrainingRun,
  { step, staleness }: { readonly step: number; readonly staleness: number },
): Promise<{ readonly played: Promise<PlayedBatch> }> {
  const { pool } = run.tasks;
  const started = performance.now();
  await using resources = new AsyncDisposableStack();
  const meter = resources.use(run.activity.begin({ activity: "playing", step, unit: playedUnit(run) }));
  const actors = resources.use(await openActors(run, { onTokens: meter.addTokens }));
  const owned = resources.move();
  const play = async (): Promise<PlayedBatch> => {
    await using _ = owned;
    const batch = await collectBatch(run, { policies: actors.policies, step, meter });
    const traceLength = await run.trace?.flush();
    const rolloutMs = performance.now() - started;
    return { ...batch, taskCursor: run.tasks.cursor, traceLength, pool, rolloutMs, staleness };
  };
  return { played: play() };
}

/** Returns the seed of the episodes of a step, by the round in which groups without a signal are replaced. */
export function batchSeed({ seed }: TrainingConfig, step: number, round = 0): number {
  return deriveSeed(seed, "rollout", step, round);
}

/** The tasks of one step: all that were played, and the part that is trained on. */
export interface Batch {
  readonly played: readonly PlayedGroup[];
  readonly kept: StepExperience;
  /** How many demonstrated episodes were too long for a model and were truncated or dropped. */
  readonly overlong: OverlongCounts;
}

interface OverlongCounts {
  truncated: number;
  dropped: number;
}

/**
 * Plays the tasks of one step. If the algorithm drops groups without a signal and resamples, more tasks are played to
 * fill the batch. If every episode fails, throws the error of the first, because such a run would not learn.
 */
async function collectBatch(
  run: TrainingRun,
  options: {
    readonly policies: Readonly<Record<AgentId, Policy>>;
    readonly step: number;
    readonly meter?: ActivityMeter;
  },
): Promise<Batch> {
  const { config, algorithm } = run;
  const { credit } = algorithm;
  const signal = (task: PlayedGroup): boolean => credit.hasSignal?.(task) ?? hasSignal(task.group);
  const { dropGroupsWithoutSignal, resampleRounds } = algorithm.rollout;
  const { epochs, batchSize: full } = config.training;
  const batchSize = epochs === undefined ? full : Math.min(full, run.tasks.leftInPass ?? full);
  const frozen = new Set(Object.keys(run.frozen));
  const played: PlayedGroup[] = [];
  const kept: KeptGroup[] = [];
  const overlong: OverlongCounts = { truncated: 0, dropped: 0 };
  for (let round = 0; round <= resampleRounds && kept.length < batchSize; round++) {
    const tasks = await run.tasks.take(batchSize - kept.length, { signal: run.signal });
    refuseHeldOut(run, tasks);
    const seed = batchSeed(config, options.step, round);
    const batch = await playTasks(run, {
      policies: options.policies,
      tasks,
      seed,
      trace: run.trace,
      meter: options.meter,
    });
    throwIfAllFailed(batch.map(({ group }) => group));
    played.push(...batch);
    const processed = fitted(run, { batch, overlong }).map((whole) => ({
      whole,
      trained: processRewards(ofTrainedAgents(whole, frozen), run.rewardProcessors),
    }));
    kept.push(...(dropGroupsWithoutSignal ? processed.filter(({ trained }) => signal(trained)) : processed));
  }
  return { played, kept: experienceOf(kept, frozen.size > 0), overlong };
}

/** Fits demonstrated episodes to the length of their models and counts the changes. Sampled episodes always fit. */
function fitted(
  { algorithm, config, learners }: TrainingRun,
  { batch, overlong }: { readonly batch: readonly PlayedGroup[]; readonly overlong: OverlongCounts },
): readonly PlayedGroup[] {
  if (algorithm.rollout.actor !== "demonstration") return batch;
  const modelOf = (agent: AgentId) => learners.policies.find(({ agents }) => agents.includes(agent))?.model;
  const maxLength = (agent: AgentId): number | undefined => modelOf(agent)?.maxLength;
  const promptEnd = (agent: AgentId, record: AgentEpisode): number => {
    const model = modelOf(agent);
    return model === undefined ? 0 : lengthOfPromptEnd(requestRenderer(model.renderer, record));
  };
  return batch.flatMap(({ group, ...task }) => {
    const options = { overlong: config.data.overlong, maxLength, promptEnd, split: config.tasks.split };
    const { episodes, truncated, dropped } = fitEpisodes(group.episodes, options);
    overlong.truncated += truncated;
    overlong.dropped += dropped;
    return episodes.length === 0 ? [] : [{ ...task, group: { ...group, episodes } }];
  });
}

/** Returns the number of tokens at the end of a prompt that are the same for every question. */
function lengthOfPromptEnd(renderer: Renderer): number {
  const [first, second] = ["a", "b"].map((text) => renderer.start({ messages: [textMessage("user", text)] }));
  let length = 0;
  while (length < first!.length && first!.at(-1 - length) === second!.at(-1 - length)) length += 1;
  return length;
}

/** The episodes of a task: as played, and as the trained agents learn from them. */
interface KeptGroup {
  readonly whole: PlayedGroup;
  readonly trained: PlayedGroup;
}

function experienceOf(tasks: readonly KeptGroup[], hasFrozen: boolean): StepExperience {
  const trees = tasks.flatMap(({ trained }) => trained.tree ?? []);
  const greedy = tasks.flatMap(({ trained }) => trained.greedy ?? []);
  return {
    groups: tasks.map(({ trained }) => trained.group),
    ...(hasFrozen ? { withPartners: tasks.map(({ whole }) => whole.group) } : {}),
    ...(trees.length === 0 ? {} : { trees }),
    ...(greedy.length === 0 ? {} : { greedy }),
  };
}

function refuseHeldOut(run: TrainingRun, tasks: readonly TaskEntry[]): void {
  const overlap = tasks.find((task) => run.heldOut.some(({ hash }) => hash === task.hash));
  if (overlap === undefined) return;
  throw new LyceumError({
    code: "data.malformed",
    message: `Task ${overlap.id} of the training split ${run.config.tasks.split} is also in the evaluation split ${run.config.evaluation.split}.`,
    hint: "Evaluate on tasks that are not trained on: use another split, or slices that do not overlap.",
    data: { id: overlap.id, hash: overlap.hash },
  });
}

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
  const { config, algorithm, environment, pool, signal } = run;
  const taskGroups = new Map(options.tasks.map(({ index, task }) => [index, taskGroup(environment, task)]));
  const ofTask = ({ task: { index } }: Group): Pick<PlayedGroup, "taskGroup"> => ({ taskGroup: taskGroups.get(index) });
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
      const group = trainingGroup({ task: tree.task, episodes: tree.episodes });
      played.push({ group, tree, ...ofTask(group) });
    }
    return played;
  }
  const needsGreedy = algorithm.credit.needsGreedy === true;
  meter?.expect(options.tasks.length * (groupSize + (needsGreedy ? 1 : 0)));
  const onEpisode = (): void => meter?.add(1);
  const ending = terminationThreshold === undefined ? {} : { terminationThreshold, partners: Object.keys(run.frozen) };
  const rolledOut = await collectGroups(rollout({ ...traced, ...ending, groupSize }), { onEpisode });
  const groups = rolledOut.map(trainingGroup);
  if (!needsGreedy) return groups.map((group) => ({ group, ...ofTask(group) }));
  const greedySampling = { ...common.sampling, temperature: 0 };
  const greedy = await collectGroups(rollout({ ...common, ...ending, groupSize: 1, sampling: greedySampling }), {
    onEpisode,
  });
  return groups.map((group, i) => ({ group, greedy: greedy[i]!, ...ofTask(group) }));
}

function jointShape({ algorithm, environment, frozen }: BranchingRun): JointShape | undefined {
  return branching(algorithm, { spec: environment.spec, frozen: Object.keys(frozen) });
}
