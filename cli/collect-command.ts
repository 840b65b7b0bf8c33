import type { Episode, Group } from "../src/contract/episode.ts";
import { toErrorData } from "../src/contract/errors/index.ts";
import type { TaskEntry, Taskset } from "../src/contract/taskset.ts";
import { inOrder } from "../src/core/concurrency/in-order.ts";
import { splitTasks } from "../src/core/environment/checked-environment.ts";
import { EpisodeWarnings } from "../src/core/rollout/episode-warnings.ts";
import { rollout } from "../src/core/rollout/rollout.ts";
import type { RolloutEvent } from "../src/core/rollout/rollout-event.ts";
import { taskCount } from "../src/core/taskset/task-count.ts";
import { visibleText } from "../src/core/text/visible-text.ts";
import { throwIfAllFailed } from "../trainers/rollouts/failed-batch.ts";
import { namedEngine } from "./catalog.ts";
import { type ChatRow, chatRows } from "./chat-row.ts";
import { type CollectCounts, noCounts, openCollection, refuseOutput } from "./collect-output.ts";
import { openCollector } from "./collect-policy.ts";
import { showCollecting } from "./collect-view.ts";
import type { CommandContext } from "./command-context.ts";
import { completeGroups } from "./complete-groups.ts";
import type { CollectArguments } from "./create-program.ts";
import { namedEnvironment } from "./named-environment.ts";
import { createPolicyOpener } from "./policy-opener.ts";
import { limitsOf, samplingOf } from "./sampling-options.ts";

/** The components of a reward, such as thirds, can differ from their sum by rounding. */
const rounding = 1e-9;

/**
 * Runs `lyceum collect`: plays tasks and writes the conversations with a sufficient reward to a file, one JSON line
 * each, in the order of the tasks. A task's lines are written completely when it ends. The file of an aborted
 * collection is valid, and `--resume` continues it. Throws `config.invalid` if the file exists, if another process
 * writes it, or if it was collected with other settings. Throws `trace.write-failed` if it cannot be written, such as
 * on a full disk, and `aborted` after the signal. Throws the first episode's error if every episode failed.
 */
export async function collectCommand(
  args: CollectArguments,
  options: Omit<CommandContext, "environment">,
): Promise<void> {
  const { catalog, signal } = options;
  const { seed, group: groupSize, concurrency, temperature, maxTokens } = args;
  refuseOutput(args);
  await using opener = createPolicyOpener({ catalog, engine: namedEngine(args), signal });
  const { open } = opener;
  const { environments } = catalog;
  const environment = await namedEnvironment({ id: args.env, set: args.set, judge: args.judge, environments, open });
  const split = args.split ?? environment.splits[0] ?? "train";
  const taskset = await splitTasks(environment, split, { signal });
  const limit =
    args.episodes === undefined
      ? undefined
      : completeGroups(args.episodes, { size: groupSize, options: ["--episodes", "--group"] });
  const count = taskCount(taskset, { split, limit, hint: "Set the number of episodes, such as --episodes 1000." });
  const { policy: policies, limits: ofFile } = await openCollector(args, { environment, opener });
  opener.checkEngineOptions(args);
  const limits = limitsOf(args, ofFile);
  await using collection = await openCollection(args);
  const { counts, tasks: skip } = collection.progress;

  const events = rollout({
    environment,
    policies,
    tasks: firstTasks(taskset, count, signal),
    skip,
    groupSize,
    concurrency,
    seed,
    sampling: { temperature, maxTokens, ...samplingOf(args) },
    limits,
    signal,
  });
  const failed: Episode[] = [];
  const warnings = new EpisodeWarnings(environment);
  const warned: string[] = [];
  try {
    using _view = showCollecting({ stream: options.output, total: count * groupSize, counts });
    for await (const { episodes } of inOrder(groupResults(events), skip)) {
      const own = noCounts();
      const rows = episodes.flatMap((episode) => countedRows(episode, own));
      const good = rows.filter(({ reward }) => args.minReward === undefined || reward >= args.minReward - rounding);
      own.written += good.length;
      own.below += rows.length - good.length;
      failed.push(...episodes.filter(({ status }) => status === "failed"));
      warned.push(...warnings.of(episodes));
      await collection.add({ lines: good.map((row) => `${JSON.stringify(row)}\n`).join(""), counts: own });
    }
  } catch (error) {
    if (!signal.aborted || toErrorData(error).code !== "aborted") throw error;
  }
  const first = failed[0] === undefined ? "" : `, the first: ${failed[0].error?.message}`;
  const parts = [
    `${counts.episodes} episodes`,
    `${counts.written} conversations written`,
    ...(args.minReward === undefined ? [] : [`${counts.below} below ${args.minReward}`]),
    ...(counts.unscored === 0 ? [] : [`${counts.unscored} episodes unscored`]),
    ...(counts.failed === 0 ? [] : [`${counts.failed} episodes failed${first}`]),
  ];
  options.output.write(visibleText(`${args.output}: ${parts.join(", ")}\n`));
  if (limit !== undefined && count < limit) {
    const group = Math.ceil(args.episodes! / count);
    warned.unshift(
      `The split "${split}" has ${count} tasks, which is fewer than the episodes asked for. --group ${group} plays each ${group} times.`,
    );
  }
  for (const warning of warned) options.output.write(visibleText(`warning: ${warning}\n`));
  signal.throwIfAborted();
  if (counts.failed === counts.episodes && failed.length > 0)
    throwIfAllFailed([{ task: failed[0]!.task, episodes: failed }]);
}

/** Returns the conversations of an episode, and counts the episode. */
function countedRows(episode: Episode, counts: CollectCounts): ChatRow[] {
  counts.episodes += 1;
  if (episode.status === "failed") counts.failed += 1;
  else if (Object.values(episode.agents).some(({ reward }) => reward.status === "unscored")) counts.unscored += 1;
  const rows = chatRows(episode);
  counts.scored += rows.length;
  for (const { reward } of rows) counts.rewards += reward;
  return rows;
}

async function* firstTasks(
  taskset: Taskset<unknown>,
  count: number,
  signal: AbortSignal,
): AsyncGenerator<TaskEntry<unknown>> {
  for (let index = 0; index < count; index++) yield await taskset.get(index, { signal });
}

/** Returns the results of groups with their indices. */
async function* groupResults(
  events: AsyncIterable<RolloutEvent>,
): AsyncGenerator<{ readonly place: number; readonly value: Group }> {
  for await (const event of events) if (event.type === "group-end") yield { place: event.group, value: event.result };
}
