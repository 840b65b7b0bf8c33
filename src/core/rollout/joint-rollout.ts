import { inOrder } from "../concurrency/in-order.ts";
import { Semaphore } from "../concurrency/semaphore.ts";
import { turnLimit } from "./episode-recorder.ts";
import { EventQueue } from "./event-queue.ts";
import type { JointTree } from "./joint-action.ts";
import { JointRun, type JointSettings } from "./joint-run.ts";
import { checkJointShape, type JointShape, jointActionsPerNode } from "./joint-shape.ts";
import { jointTree } from "./joint-tree.ts";
import { plannedGroups } from "./planned-episodes.ts";
import {
  checkCount,
  defaultConcurrency,
  maxConcurrency,
  poolOf,
  type RolloutOptions,
  runSettings,
} from "./rollout-options.ts";
import { RolloutSlots } from "./rollout-slots.ts";
import type { EpisodePosition } from "./run-settings.ts";

/**
 * The options of {@link jointRollout}. `concurrency` is the maximum number of concurrent calls of environments. The
 * number of concurrent tasks is `concurrency` divided by the joint actions of a node, but at least 1.
 * `limits.episodeMs` applies to a whole tree. `sampleIndices` of planned tasks are ignored.
 */
export interface JointRolloutOptions<Task>
  extends Omit<RolloutOptions<Task>, "groupSize" | "terminationThreshold" | "partners"> {
  readonly shape: JointShape;
}

/**
 * Plays tasks with several joint actions per turn and yields their trees in task order. Plays joint actions on forks of
 * the environment. If it has no `fork` but `spec.deterministic` is true, replays the path from its seed instead. Group
 * episodes share their beginning: one reset and one conversation with G completions. Trees are reproducible bit for
 * bit.
 *
 * Errors on a path are recorded in its episode. Throws `config.invalid` immediately if options or the shape are
 * invalid. The iteration throws `config.invalid` for an environment with several turns that can be neither forked nor
 * replayed, `aborted` after the signal aborted (the trace has the episodes until then), and the errors of the taskset
 * and the trace. An instance that fails to close is abandoned. `onCloseError` of a given pool is called for it.
 */
export function jointRollout<Task>(options: JointRolloutOptions<Task>): AsyncGenerator<JointTree, void, undefined> {
  const { shape } = options;
  const concurrency = checkCount("concurrency", options.concurrency ?? defaultConcurrency, maxConcurrency);
  const { pool, owned } = poolOf(options.environment);
  const settings = { ...runSettings(options, pool), shape, calls: new Semaphore(concurrency) };
  const { spec } = pool.factory;
  const agents = spec.agents.length;
  checkJointShape(shape, { agents, maxTurns: turnLimit(spec, settings.limits) });
  const count = Math.max(1, Math.floor(concurrency / jointActionsPerNode(shape, agents)));
  return trees(options, { settings, count, closePool: owned });
}

async function* trees<Task>(
  options: JointRolloutOptions<Task>,
  more: { readonly settings: JointSettings<Task>; readonly count: number; readonly closePool: boolean },
): AsyncGenerator<JointTree, void, undefined> {
  const { settings, count } = more;
  const { trace, signal, skip = 0 } = options;
  const queue = new EventQueue<{ readonly place: number; readonly value: JointTree }>(count);
  const play = async (position: EpisodePosition<Task>): Promise<void> => {
    const run = new JointRun(settings, position);
    slots.running.add(run);
    const root = await run.play().finally(() => slots.running.delete(run));
    const tree = await jointTree({ root, settings, position, signal: slots.stopped });
    for (const episode of tree.episodes) await trace?.write(episode);
    if (!slots.stopped.aborted) queue.push({ place: position.group, value: tree });
  };
  const slots = new RolloutSlots({
    ...more,
    queue,
    play,
    signal,
    positions: (stopped) => plannedGroups(options, stopped),
  });
  const ended = slots.play().then(() => slots.end());
  try {
    yield* inOrder(queue, skip);
  } finally {
    slots.stop();
    queue.abandon();
    await ended;
  }
}
