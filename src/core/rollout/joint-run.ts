import { isDeepStrictEqual } from "node:util";
import type { Observations, StepResult } from "../../contract/environment.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import { scored, unscored } from "../../contract/reward.ts";
import type { Semaphore } from "../concurrency/semaphore.ts";
import { contractError } from "../environment/environment-error.ts";
import { createRandom, deriveSeed } from "../random/random.ts";
import { type Ask, askAll } from "./ask-all.ts";
import { blameStep } from "./blame-step.ts";
import { EnvironmentInstance, type InstanceOptions } from "./environment-instance.ts";
import { EpisodeRecorder, turnLimit } from "./episode-recorder.ts";
import { isContextFull, isEnvironmentFault } from "./episode-run.ts";
import { resetSeed } from "./episode-seeds.ts";
import { chooseHandoff, meanJointValue } from "./handoff.ts";
import type { InterruptibleRun } from "./interruptible-run.ts";
import { InterruptibleRuns, type Ran } from "./interruptible-runs.ts";
import { candidateFailure, newJointAction, newNode } from "./joint-node.ts";
import type { GrowingJointAction, GrowingNode, JointPath } from "./joint-path.ts";
import type { JointShape } from "./joint-shape.ts";
import { completionsPerNode, jointActionsPerNode } from "./joint-shape.ts";
import type { Outcome } from "./outcome.ts";
import { startTimer } from "./rollout-limits.ts";
import type { EpisodePosition, RunSettings } from "./run-settings.ts";

/** The shared settings of the trees of a joint rollout. */
export interface JointSettings<Task> extends RunSettings<Task> {
  readonly shape: JointShape;
  /** Limits the number of concurrent calls of environments. */
  readonly calls: Semaphore;
}

/**
 * One run of one task in a {@link JointShape}. It plays one turn of all nodes at a time. It requests all completions of
 * the turn at once, then plays the joint actions, each on its own instance.
 */
export class JointRun<Task> {
  readonly #settings: JointSettings<Task>;
  readonly #position: EpisodePosition<Task>;
  readonly #runs = new InterruptibleRuns();
  #started = 0;

  constructor(settings: JointSettings<Task>, position: EpisodePosition<Task>) {
    this.#settings = settings;
    this.#position = position;
  }

  /**
   * Plays the task and returns the path to the root. An error on a path becomes its end. Rejects only if the
   * environment cannot reach the same state twice.
   */
  async play(): Promise<JointPath<Task>> {
    const { pool, policies, limits } = this.#settings;
    this.#started = performance.now();
    const timer = startTimer(limits.episodeMs, () => this.#runs.interrupt({ status: "truncated", limit: "time" }));
    const trajectory = EpisodeRecorder.begin(pool.factory, policies);
    const root: JointPath<Task> = { trajectory, history: [], place: 0, observations: {}, acting: [] };
    try {
      await this.#begin(root);
      let paths = root.end === undefined ? [root] : [];
      while (paths.length > 0) {
        const nodes = await this.#sample(paths);
        await Promise.all(nodes.map((node) => this.#playNode(node)));
        paths = (await Promise.all(nodes.map((node) => this.#goOn(node)))).flat();
      }
    } finally {
      clearTimeout(timer);
    }
    return root;
  }

  /** Ends all paths. */
  abort(): void {
    this.#runs.interrupt({ status: "aborted" });
  }

  async #begin(root: JointPath<Task>): Promise<void> {
    const acquired = await this.#call((run) => this.#acquire(run));
    if ("outcome" in acquired) return this.#end(root, acquired.outcome);
    root.instance = acquired.value;
    this.#checkBranching(acquired.value);
    const ran = await this.#call(async (run) => this.#arrive(root, await this.#reset(acquired.value, run)));
    if ("outcome" in ran) this.#end(root, ran.outcome);
  }

  /** Throws `config.invalid` if the environment cannot reach the same state twice after the first turn. */
  #checkBranching(instance: EnvironmentInstance<Task>): void {
    const { shape, limits, pool } = this.#settings;
    const { spec } = pool.factory;
    if (spec.deterministic || instance.canFork || turnLimit(spec, limits) === 1) return;
    if (jointActionsPerNode(shape, spec.agents.length) === 1) return;
    instance.release({ atFault: false });
    throw new LyceumError({
      code: "config.invalid",
      message: `Environment "${spec.id}" cannot be played in this shape: it is not deterministic and has no fork, so two joint actions cannot be played in the same state after the first turn.`,
      hint: "Implement fork in the environment, or use a group size of 1 or a limit of one turn.",
      data: { environment: spec.id },
    });
  }

  /** Requests the completions of all nodes at once. Ends the paths that cannot continue. */
  async #sample(paths: readonly JointPath<Task>[]): Promise<GrowingNode<Task>[]> {
    const settings = this.#settings;
    const { shape, sampling, slice } = settings;
    const asks = new Map(paths.map((path) => [path, this.#asks(path)]));
    const ran = await this.#runs.run((run) => askAll([...asks.values()].flat(), { settings, run }));
    const nodes: GrowingNode<Task>[] = [];
    for (const [path, own] of asks) {
      await slice.pause();
      if ("outcome" in ran) {
        this.#end(path, ran.outcome);
      } else if (own.some(({ answer }) => "error" in answer! && isContextFull(answer.error, path.acting))) {
        this.#end(path, { status: "truncated", limit: "tokens" });
      } else {
        path.node = newNode({ path, asks: own, shape, sampling });
        nodes.push(path.node);
      }
    }
    return nodes;
  }

  /**
   * Returns G requests for each acting agent, or one if only partners act. In the first turn they equal the requests of
   * the G episodes of a group.
   */
  #asks(path: JointPath<Task>): Ask<Task>[] {
    const { shape } = this.#settings;
    const { groupSize } = shape;
    const { turns: turn } = path.trajectory;
    const acting = path.acting.map(({ agent }) => agent);
    return Array.from({ length: completionsPerNode(shape, acting) }, (_, index) => {
      const position = { ...this.#position, sampleIndex: path.place * groupSize + index };
      return path.acting.map((recorder) => ({ recorder, position, turn }));
    }).flat();
  }

  /** Plays the joint actions of a node, each on an instance in the node's state. */
  async #playNode(node: GrowingNode<Task>): Promise<void> {
    const { path } = node;
    for (const jointAction of node.jointActions) {
      const failure = candidateFailure(node.agents, jointAction.choice);
      if (failure === undefined) continue;
      const { outcome, caused } = failure;
      const rewards = jointAction.path.trajectory.blamePrograms(caused, { task: this.#position.entry.id });
      if (rewards === undefined) {
        this.#endUnplayed(jointAction, outcome);
      } else {
        jointAction.rewards = { ...jointAction.rewards, ...rewards };
        jointAction.isBlamed = true;
        this.#end(jointAction.path, outcome);
      }
    }
    const playable = node.jointActions.filter((jointAction) => jointAction.path.end === undefined);
    const instances = await this.#instances(node, playable.length);
    await Promise.all(playable.map((jointAction, index) => this.#step(path, jointAction, instances[index])));
  }

  /**
   * Returns instances in the state of a node: its own and forks of it. Returns fewer than `count` if the environment
   * has no fork, and the others must then be replayed. The node keeps its own instance if its state may be needed
   * again.
   */
  async #instances(node: GrowingNode<Task>, count: number): Promise<Ran<EnvironmentInstance<Task>>[]> {
    const { path } = node;
    const own = path.instance;
    if (own === undefined || count === 0) return [];
    const keeps = own.canFork && this.#mayComeBack(node);
    const forks: Ran<EnvironmentInstance<Task>>[] = [];
    while (own.canFork && forks.length < (keeps ? count : count - 1)) {
      const failure = forks.find((fork) => "outcome" in fork);
      forks.push(failure ?? (await this.#call((run) => own.fork(run))));
    }
    if (keeps) return forks;
    const failure = forks.find((fork) => "outcome" in fork);
    if (failure !== undefined) return [failure, ...forks];
    path.instance = undefined;
    return [{ value: own }, ...forks];
  }

  /** True if the rollout may continue with a joint action that was not played. */
  #mayComeBack({ path, agents }: GrowingNode<Task>): boolean {
    const { shape, limits, pool } = this.#settings;
    const isLast = path.trajectory.turns + 1 >= turnLimit(pool.factory.spec, limits);
    return shape.handoff === "randomIndependent" && shape.mode === "align" && agents.size > 1 && !isLast;
  }

  /** Plays a joint action from the state of `from`. */
  async #step(
    from: JointPath<Task>,
    jointAction: GrowingJointAction<Task>,
    instance: Ran<EnvironmentInstance<Task>> | undefined,
  ): Promise<void> {
    if (instance !== undefined && "outcome" in instance) return this.#endUnplayed(jointAction, instance.outcome);
    const { path } = jointAction;
    path.instance = instance?.value;
    const ran = await this.#call(async (run) => {
      if (path.instance === undefined) {
        path.instance = await this.#acquire(run);
        await this.#replay(from, path.instance, run);
      }
      const result = await this.#stepOrBlame(path.instance, { from, jointAction, run });
      path.trajectory.step(result, from.acting);
      jointAction.rewards = this.#rewards(result);
      this.#arrive(path, result.observations);
    });
    if (!("outcome" in ran)) return;
    if (jointAction.isBlamed === true) this.#end(path, ran.outcome);
    else this.#endUnplayed(jointAction, ran.outcome);
  }

  /** Plays a step. If the same seed and actions cause an error again, the joint action gets the lowest reward. */
  async #stepOrBlame(
    instance: EnvironmentInstance<Task>,
    options: {
      readonly from: JointPath<Task>;
      readonly jointAction: GrowingJointAction<Task>;
      readonly run: InterruptibleRun;
    },
  ): Promise<StepResult> {
    const { from, jointAction, run } = options;
    const { trajectory, history } = jointAction.path;
    const { acting } = from;
    try {
      return await instance.step(run, history.at(-1)!);
    } catch (error) {
      if (run.interruption !== undefined || !LyceumError.isInstance(error)) throw error;
      const { error: reported, rewards } = await blameStep({
        error,
        trajectory,
        acting,
        turns: history.length,
        run,
        position: this.#position,
        instanceOptions: this.#instanceOptions,
        replay: async (other) => {
          await this.#replay(from, other, run);
          await other.step(run, history.at(-1)!);
        },
      });
      if (rewards !== undefined) {
        jointAction.rewards = { ...jointAction.rewards, ...rewards };
        jointAction.isBlamed = true;
      }
      throw reported;
    }
  }

  /** Brings an instance into the state of `path` by a replay of its actions. */
  async #replay(path: JointPath<Task>, instance: EnvironmentInstance<Task>, run: InterruptibleRun): Promise<void> {
    let observations = await this.#reset(instance, run);
    for (const actions of path.history) ({ observations } = await instance.step(run, actions));
    if (isDeepStrictEqual(observations, path.observations)) return;
    throw contractError({
      environment: this.#settings.pool.factory.spec.id,
      problem: "reached another state when the same actions were replayed",
      rule: "The same task, seed and actions must give the same observations. If they cannot, implement fork.",
    });
  }

  #rewards({ agents }: StepResult): GrowingJointAction<Task>["rewards"] {
    const { agents: all } = this.#settings.pool.factory.spec;
    return Object.fromEntries(all.map((agent) => [agent, agents[agent]?.reward ?? scored(0, {})]));
  }

  /** Returns the paths that continue from a node. */
  async #goOn(node: GrowingNode<Task>): Promise<JointPath<Task>[]> {
    const { shape } = this.#settings;
    const open = node.jointActions.filter(({ path }) => path.end === undefined);
    const mean = meanJointValue(node.jointActions, shape.partners);
    const exceeds = mean !== undefined && mean > (shape.terminationThreshold ?? Infinity);
    node.endedEarly = exceeds && open.length > 0;
    let next: readonly GrowingJointAction<Task>[] = [];
    if (!exceeds) next = shape.turns === "tree" ? open : await this.#handOn(node, open);
    for (const jointAction of open) {
      if (!next.includes(jointAction)) this.#end(jointAction.path, { status: "truncated", limit: "shape" });
    }
    node.path.instance?.release({ atFault: false });
    node.path.instance = undefined;
    return next.map(({ path }) => path);
  }

  /** Chooses the joint action that the rollout continues with. */
  async #handOn(
    node: GrowingNode<Task>,
    open: readonly GrowingJointAction<Task>[],
  ): Promise<readonly GrowingJointAction<Task>[]> {
    if (open.length === 0) return [];
    const { path, agents } = node;
    const { seed, entry } = this.#position;
    const random = createRandom(deriveSeed(seed, entry.hash, "handoff", path.trajectory.turns));
    const { handoff = "random", partners = [] } = this.#settings.shape;
    const choice = chooseHandoff(open, { handoff, random, partners });
    let chosen = node.jointActions.find((jointAction) => isDeepStrictEqual(jointAction.choice, choice));
    if (chosen === undefined) {
      chosen = newJointAction({ path, agents, choice, place: 0 });
      node.handoffAction = chosen;
      const own = path.instance;
      path.instance = undefined;
      await this.#step(path, chosen, own === undefined ? undefined : { value: own });
    }
    return chosen.path.end === undefined ? [chosen] : [];
  }

  /** Adds observations to the path. This can end the path. */
  #arrive(path: JointPath<Task>, observations: Observations): void {
    const acting = path.trajectory.observe(observations, this.#settings.limits);
    path.observations = observations;
    if ("status" in acting) this.#end(path, acting);
    else path.acting = acting;
  }

  /** Ends the path of a joint action that was not completely played. Its rewards become unscored. */
  #endUnplayed(jointAction: GrowingJointAction<Task>, outcome: Outcome): void {
    const reward =
      outcome.status === "failed"
        ? unscored(outcome.error.message, outcome.error)
        : unscored("The rollout was stopped during this step.");
    jointAction.rewards = Object.fromEntries(Object.keys(jointAction.rewards).map((agent) => [agent, reward]));
    this.#end(jointAction.path, outcome);
  }

  #end(path: JointPath<Task>, outcome: Outcome): void {
    path.end = { outcome, durationMs: performance.now() - this.#started };
    path.instance?.release({ atFault: isEnvironmentFault(outcome) });
    path.instance = undefined;
  }

  #acquire(run: InterruptibleRun): Promise<EnvironmentInstance<Task>> {
    return EnvironmentInstance.acquire(this.#instanceOptions, run);
  }

  get #instanceOptions(): InstanceOptions<Task> {
    const { pool, limits } = this.#settings;
    return { pool, limitMs: limits.environmentMs, task: this.#position.entry.id };
  }

  #reset(instance: EnvironmentInstance<Task>, run: InterruptibleRun): Promise<Observations> {
    return instance.reset(run, { task: this.#position.entry.task, seed: resetSeed(this.#position) });
  }

  /** Runs calls of environments within the concurrency limit. */
  #call<T>(task: (run: InterruptibleRun) => Promise<T>): Promise<Ran<T>> {
    const { calls, slice } = this.#settings;
    return calls.run(async () => {
      await slice.pause();
      return this.#runs.run(task);
    });
  }
}
