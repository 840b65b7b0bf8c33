import type { Action, AgentId } from "../environment/environment.ts";
import type { Reward } from "../environment/reward.ts";
import type { ErrorData } from "../errors/index.ts";
import type { Episode, TokenSequence } from "./episode.ts";
import type { RunPlace } from "./episode-run.ts";
import { EventQueue } from "./event-queue.ts";
import { JointRun, type JointSettings } from "./joint-run.ts";
import { checkJointShape, jointActionsPerNode } from "./joint-shape.ts";
import { jointTree } from "./joint-tree.ts";
import { checkCount, poolOf, type RolloutOptions, runSettings } from "./rollout-options.ts";
import { taskPlaces } from "./rollout-places.ts";
import { RolloutSlots } from "./rollout-slots.ts";
import { Semaphore } from "./semaphore.ts";
import { turnLimit } from "./trajectory.ts";

/**
 * How the completions of several agents become joint actions, and what follows a joint action. With one agent, `align`
 * and `cross` are the same; with one turn, `tree` and `handoff` are, and both give the completions of a group.
 */
export interface JointShape {
  /** G: completions that each acting agent samples in a node. */
  readonly groupSize: number;
  /** `align`: the G joint actions of equal index; `cross`: all G^n of n acting agents. */
  readonly mode: "align" | "cross";
  /** `tree`: every joint action goes on in a node of its own; `handoff`: one does. */
  readonly turns: "tree" | "handoff";
  /**
   * Which joint action is handed on, of those that can go on and were scored (the unscored only where none was).
   * `random` by default; `best`: the highest {@link jointValue}, the first of equals; `randomIndependent`: a completion
   * of each agent, picked apart, so that the pair may be one that was not played.
   */
  readonly handoff?: "random" | "best" | "randomIndependent";
  /** A node whose mean scored {@link jointValue} exceeds it becomes a leaf. None by default. */
  readonly terminationThreshold?: number;
  /** The most nodes that a tree may come to have ({@link countJointNodes}); 1,000 by default. */
  readonly maxNodes?: number;
  /** The most joint actions that a tree may come to play; 10,000 by default. */
  readonly maxJointActions?: number;
}

/**
 * What {@link jointRollout} is given. `concurrency` bounds how many environments are called at once, and with that how
 * many tasks are played at once: as many as have room for the joint actions of a node each. `limits.episodeMs` is the
 * time of a whole tree. `members` of planned tasks are not heeded.
 */
export interface JointRolloutOptions<Task> extends Omit<RolloutOptions<Task>, "groupSize"> {
  readonly shape: JointShape;
}

/** One of the G completions of one agent in a node. */
export interface TurnCandidate {
  /** Absent where the policy failed. */
  readonly action?: Action;
  /** What the model saw and then sampled; `mask` is 1 on this completion only. Absent where the policy sees no tokens. */
  readonly sequence?: TokenSequence;
  /** Why the action cannot be played. */
  readonly error?: ErrorData;
}

/** One completion of each acting agent, played together. Has either a child or an episode. */
export interface JointAction {
  /** The index of each acting agent's candidate. */
  readonly choice: Readonly<Record<AgentId, number>>;
  /**
   * What this step earned each agent of the environment, those that did not act too; 0 where it said nothing. Unscored
   * for all where the step failed or was cut short. Rewards of `scoreGroup` are in those of leaves.
   */
  readonly rewards: Readonly<Record<AgentId, Reward>>;
  /** The next turn. */
  readonly child?: JointNode;
  /** The whole path from the root, where it ends here: how it ended, and for each agent whether by the rules. */
  readonly episode?: Episode;
}

/** One turn at one state of the environment. */
export interface JointNode {
  /** The step of the environment, from 0. */
  readonly turn: number;
  /** G candidates of each agent that acts here, in the order of the spec. */
  readonly agents: Readonly<Record<AgentId, readonly TurnCandidate[]>>;
  /** Those of the shape: G or G^n, the last agent's index running fastest. */
  readonly jointActions: readonly JointAction[];
  /** The joint action that `randomIndependent` handed on, where it is none of `jointActions`. */
  readonly handedOn?: JointAction;
  /** The threshold ended here what could have gone on. */
  readonly endedEarly: boolean;
}

/** All that was played of one task. */
export interface JointTree {
  readonly task: Episode["task"];
  readonly seed: number;
  /** Absent where nobody came to act: the environment failed or ended at its reset, or a limit or abort came first. */
  readonly root?: JointNode;
  /**
   * Every path from the root as an ordinary episode, depth first; `member` is the place in this list. Paths share their
   * beginnings, so that sums over episodes count those more than once. What the shape ended is truncated with the
   * limit `shape`.
   */
  readonly episodes: readonly Episode[];
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
  const concurrency = checkCount("concurrency", options.concurrency ?? 64);
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
