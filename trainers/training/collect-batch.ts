import type { AgentId } from "../../src/contract/action.ts";
import type { AgentEpisode } from "../../src/contract/episode.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { textMessage } from "../../src/contract/message.ts";
import type { Policy } from "../../src/contract/policy.ts";
import type { TaskEntry } from "../../src/contract/taskset.ts";
import { requestRenderer } from "../../src/core/policy/render-prompt.ts";
import { deriveSeed } from "../../src/core/random/random.ts";
import type { Renderer } from "../../src/core/tokens/renderer.ts";
import type { ActivityMeter } from "../../src/core/training-progress.ts";
import type { PlayedGroup, StepExperience } from "../credit/index.ts";
import { ofTrainedAgents } from "../credit/trained-agents.ts";
import { hasSignal } from "../credit/trajectory.ts";
import { fitEpisodes } from "../data/fit-episodes.ts";
import { processRewards } from "../rewards/process-rewards.ts";
import { throwIfAllFailed } from "./failed-batch.ts";
import { playTasks } from "./play-tasks.ts";
import type { TrainingRun } from "./training-run.ts";

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
export async function collectBatch(
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
    const seed = deriveSeed(config.seed, "rollout", options.step, round);
    const batch = await playTasks(run, {
      ...{ policies: options.policies, tasks, seed },
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
