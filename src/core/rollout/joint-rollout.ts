import { Semaphore } from "../concurrency/semaphore.ts";
import { EventQueue } from "./event-queue.ts";
import type { JointTree } from "./joint-action.ts";
import { JointRun, type JointSettings } from "./joint-run.ts";
import { checkJointShape, type JointShape, jointActionsPerNode } from "./joint-shape.ts";
import { jointTree } from "./joint-tree.ts";
import { checkCount, mostAtOnce, poolOf, type RolloutOptions, runSettings } from "./rollout-options.ts";
import { taskPlaces } from "./rollout-places.ts";
import { RolloutSlots } from "./rollout-slots.ts";
import type { RunPlace } from "./run-settings.ts";
import { turnLimit } from "./trajectory.ts";

/**
 * What {@link jointRollout} is given. `concurrency` bounds how many environments are called at once, and with that how
 * many tasks are played at once: as many as have room for the joint actions of a node each. `limits.episodeMs` is the
 * time of a whole tree. `members` of planned tasks are not heeded.
 */
export interface JointRolloutOptions<Task>
  extends Omit<RolloutOptions<Task>, "groupSize" | "terminationThreshold" | "partners"> {
  readonly shape: JointShape;
}

/**
 * Plays tasks in a shape of several joint actions a turn, and gives their trees in task order. Joint actions are played
 * on forks of the environment; without `fork`, by a replay of the path from its seed, which `spec.deterministic` allows.
 * Group members share their beginning: one reset, one conversation, G completions of it. Trees repeat bit for bit.
 *
 * What goes wrong on a path is in its episode. Throws `config.invalid` at once for options and shapes that cannot work,
 * and from the iteration for an environment of several turns that can be neither forked nor replayed; `aborted` after
 * the signal aborted (the trace has what was played until then); and what a broken taskset or trace throws. An instance
 * that cannot be closed is dropped; a pool with `onCloseError` hears of it.
 */
export function jointRollout<Task>(options: JointRolloutOptions<Task>): AsyncGenerator<JointTree, void, undefined> {
  const { shape } = options;
  const concurrency = checkCount("concurrency", options.concurrency ?? 64, mostAtOnce);
  const { pool, owned } = poolOf(options.environment);
  const settings = { ...runSettings(options, pool), shape, calls: new Semaphore(concurrency) };
  const { spec } = pool.factory;
  const agents = spec.agents.length;
  checkJointShape(shape, { agents, maxTurns: turnLimit(spec, settings.limits) });
  const count = Math.max(1, Math.floor(concurrency / jointActionsPerNode(shape, agents)));
  return trees(options, { settings, count, closePool: owned });
}

/** A tree, and the place of its task. */
interface PlayedTree {
  readonly group: number;
  readonly tree: JointTree;
}

async function* trees<Task>(
  options: JointRolloutOptions<Task>,
  more: { readonly settings: JointSettings<Task>; readonly count: number; readonly closePool: boolean },
): AsyncGenerator<JointTree, void, undefined> {
  const { settings, count } = more;
  const { trace, signal, skip = 0 } = options;
  const queue = new EventQueue<PlayedTree>(count);
  const play = async (place: RunPlace<Task>): Promise<void> => {
    const run = new JointRun(settings, place);
    slots.running.add(run);
    const root = await run.play().finally(() => slots.running.delete(run));
    const tree = await jointTree({ root, settings, place, signal: slots.stopped });
    for (const episode of tree.episodes) await trace?.write(episode);
    if (!slots.stopped.aborted) queue.push({ group: place.group, tree });
  };
  const slots = new RolloutSlots<Task, RunPlace<Task>, PlayedTree>({
    ...{ ...more, queue, play, signal },
    places: (stopped) => taskPlaces(options, stopped),
  });
  const ended = slots.play().then(() => slots.end());
  try {
    yield* inTaskOrder(queue, skip);
  } finally {
    slots.stop();
    queue.abandon();
    await ended;
  }
}

async function* inTaskOrder(
  played: AsyncIterable<PlayedTree>,
  first: number,
): AsyncGenerator<JointTree, void, undefined> {
  const early = new Map<number, JointTree>();
  let next = first;
  for await (const { group, tree } of played) {
    early.set(group, tree);
    for (let due = early.get(next); due !== undefined; due = early.get(next)) {
      early.delete(next);
      next += 1;
      yield due;
    }
  }
}
