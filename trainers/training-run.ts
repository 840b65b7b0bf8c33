import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { AgentId } from "../src/contract/action.ts";
import type { EnvironmentDefinition } from "../src/contract/environment.ts";
import { LyceumError, toErrorData } from "../src/contract/errors/index.ts";
import { isJsonObject, type Json } from "../src/contract/json.ts";
import type { Policy } from "../src/contract/policy.ts";
import type { TaskEntry, Taskset } from "../src/contract/taskset.ts";
import { lockRun } from "../src/core/files/run-lock.ts";
import { deriveSeed } from "../src/core/random/random.ts";
import { EnvironmentPool } from "../src/core/rollout/environment-pool.ts";
import { checkEpisodeCount } from "../src/core/rollout/episode-limit.ts";
import { EpisodeWarnings } from "../src/core/rollout/episode-warnings.ts";
import { checkJointShape, jointActionsPerNode } from "../src/core/rollout/joint-shape.ts";
import { TimeSlice } from "../src/core/rollout/time-slice.ts";
import { checkDisjoint } from "../src/core/taskset/disjoint.ts";
import { memoryTaskset } from "../src/core/taskset/memory-taskset.ts";
import { createIndexedTraceWriter } from "../src/core/trace/indexed-trace-writer.ts";
import { traceLoss } from "../src/core/trace/trace-loss.ts";
import type { TraceWriter } from "../src/core/trace/trace-writer.ts";
import { TrainingProgress } from "../src/core/training-progress.ts";
import { type Algorithm, type AlgorithmDefinition, algorithmDefinition, algorithms } from "./algorithms/index.ts";
import type { Model, TrainingBackend } from "./backend/training-backend.ts";
import { branching } from "./branching.ts";
import { bestCheckpointPath, readBestCheckpoint } from "./checkpoint/best-checkpoint.ts";
import type { CheckpointManifest } from "./checkpoint/checkpoint-manifest.ts";
import type { Checkpoint } from "./checkpoint/find-checkpoints.ts";
import { putAside, resumedCheckpoint } from "./checkpoint/resumed-checkpoint.ts";
import { checkSameRun, runIdentity, sameEvaluation } from "./checkpoint/run-identity.ts";
import {
  type OptimizationConfig,
  parseTrainingConfig,
  samplingSettings,
  type TrainingConfig,
  type TrainingConfigInput,
} from "./config/training-config.ts";
import { createCurriculum } from "./curriculum.ts";
import { defaultLearningRate } from "./default-learning-rate.ts";
import { epochSteps } from "./epoch-steps.ts";
import { evaluationOpponent } from "./evaluation-opponent.ts";
import { checkFrozenAgents, frozenPolicies } from "./frozen-agents.ts";
import { type Learners, openLearners, planLearners, trainedModels } from "./learners.ts";
import { needsReference } from "./losses/loss.ts";
import type { RewardProcessor } from "./rewards/reward-processor.ts";
import { rewardProcessors } from "./rewards/reward-processor-config.ts";
import { exportStart } from "./start-folder.ts";
import { checkSupport } from "./support.ts";
import { createTaskOrder, type TaskOrder } from "./task-order.ts";
import { startingModels } from "./team-models.ts";

/** What a training run is made of. */
export interface TrainOptions {
  readonly config: TrainingConfigInput;
  readonly environment: EnvironmentDefinition;
  /** What the environment was made with. Recorded in checkpoints: a resumed run must have the same. */
  readonly environmentOptions?: Readonly<Record<string, unknown>>;
  /**
   * Agents that are not trained, and the policy that plays each: its episodes count for the others, and it learns
   * nothing. Left open. Checkpoints record what `config.agents.policies` says of them, or else their names, and a
   * resumed run must have the same.
   */
  readonly policies?: Readonly<Record<AgentId, Policy>>;
  /**
   * What the model plays against in evaluations, from both sides of a game of two agents. Left open. Recorded as
   * `policies` are.
   */
  readonly opponent?: Policy;
  /** Left open. */
  readonly backend: TrainingBackend;
  /** The run's folder: `checkpoints/`, `trace.jsonl` where it is asked for and, in the end, `model/`. */
  readonly output: string;
  /** Go on from the newest checkpoint in `output`. */
  readonly resume?: boolean;
  /** What `config.algorithm` may name; those that come with Lyceum by default. */
  readonly algorithms?: readonly AlgorithmDefinition[];
  /** Saves a checkpoint and ends the run. */
  readonly signal?: AbortSignal;
  /** Shows how far the current step is, for a view of the run. */
  readonly progress?: TrainingProgress;
}

/** A config whose defaults that depend on the model and the tasks are filled in. */
export interface ResolvedConfig extends TrainingConfig {
  readonly training: OptimizationConfig & { readonly steps: number; readonly learningRate: number };
}

/** A run that is set up: everything its steps need, and how far it is. Closing it closes its models. */
export interface TrainingRun extends AsyncDisposable {
  readonly config: ResolvedConfig;
  /** What the learning rate is the default of; undefined if the config gives one. */
  readonly defaultRateOf: string | undefined;
  /** True if the model began with random weights, in this run or in the one that it goes on from. */
  readonly fromScratch: boolean;
  /** Config and environment as JSON: what checkpoints are compared by. */
  readonly identity: Json;
  readonly algorithm: Algorithm;
  readonly environment: EnvironmentDefinition;
  readonly pool: EnvironmentPool;
  /** Gets the episodes that are trained on. */
  readonly trace: TraceWriter | undefined;
  readonly learners: Learners;
  /** Finds mistakes of the environment in what is played. */
  readonly warnings: EpisodeWarnings;
  /** The policies of the agents that are not trained. */
  readonly frozen: Readonly<Record<AgentId, Policy>>;
  /** What the model plays against in evaluations, if not against itself or frozen agents. */
  readonly opponent: Policy | undefined;
  readonly rewardProcessors: readonly RewardProcessor[];
  readonly tasks: TaskOrder;
  /** The held-out tasks; none when there is no evaluation. */
  readonly heldOut: readonly TaskEntry[];
  readonly output: string;
  readonly checkpoints: string;
  readonly signal: AbortSignal | undefined;
  readonly progress: Progress;
  /** What a person must know of what the run goes on from, in sentences. */
  readonly notes: readonly string[];
  /** What the run is doing now. */
  readonly activity: TrainingProgress;
}

/** What a finished step leaves behind. Together with the model it is what a checkpoint holds. */
export interface Progress {
  step: number;
  taskCursor: number;
  metrics: Record<string, number>;
  /** The newest checkpoint. */
  checkpoint: { readonly path: string; readonly step: number } | undefined;
  /** The last step that was evaluated after. */
  evaluated: number | undefined;
  /** The metric of the best checkpoint. */
  best: number | undefined;
  /** True once a warning said that something was too long for a model. */
  warnedOverlong: boolean;
  /** The length of the trace after this step, in bytes. */
  traceLength: number | undefined;
}

/**
 * Checks everything that can be checked before a run begins, locks its folder, opens its models, and restores its
 * checkpoint. Throws typed errors: `config.invalid` (also while another process writes the run), `config.unknown-name`,
 * `backend.unsupported`, `checkpoint.unusable`, `trace.write-failed` for a folder that cannot be written, `data.*`.
 */
export async function openRun(options: TrainOptions): Promise<TrainingRun> {
  const { environment, backend, output, signal, policies = {} } = options;
  const known = options.algorithms ?? algorithms;
  const id: unknown = options.config.algorithm?.id;
  if (typeof id === "string") algorithmDefinition(id, known);
  const parsed = parseTrainingConfig(options.config, known);
  const { id: algorithmId, ...settings } = parsed.algorithm;
  const algorithm = algorithmDefinition(algorithmId, known).create(settings);
  checkSupport({ config: parsed, algorithm, capabilities: backend.capabilities });
  checkDemonstrations(algorithm, environment);
  checkEnvironmentFits(algorithm, environment);
  const frozenNames = [...new Set([...Object.keys(policies), ...Object.keys(parsed.agents.policies)])];
  const { agents } = environment.spec;
  checkFrozenAgents({ agents, frozen: frozenNames, models: Object.keys(parsed.agents.models) });
  const frozen = frozenPolicies({
    given: policies,
    named: parsed.agents.policies,
    sampling: samplingSettings(parsed.sampling),
  });
  const opponent = evaluationOpponent({ given: options.opponent, config: parsed, environment, frozen: frozenNames });
  checkBranching(algorithm, { environment, config: parsed, frozen: frozenNames });
  checkBest(parsed);
  const processors = rewardProcessors(parsed.rewards, parsed.sampling);

  await using resources = new AsyncDisposableStack();
  resources.use(await lockRun(output));
  const checkpoints = join(output, "checkpoints");
  const { checkpoint, warnings } = await resumedCheckpoint(checkpoints, options.resume === true);
  const notes = [...warnings];
  const chosen = await defaultLearningRate({ model: parsed.model, algorithm });
  // A run goes on as it began, also if the defaults or the files that they depend on have changed.
  const { learningRate = recordedRate(checkpoint) ?? chosen.learningRate } = parsed.training;
  const rated = { ...parsed, training: { ...parsed.training, learningRate } };
  const identity = runIdentity({
    config: rated,
    environment: environment.spec.id,
    environmentOptions: options.environmentOptions ?? {},
    policies,
    ...(options.opponent === undefined ? {} : { opponent: options.opponent }),
  });
  if (checkpoint !== undefined) checkSameRun(checkpoint, identity);
  const { tasks, heldOut } = await openTasks({ config: rated, environment, signal });
  checkBatchSize(tasks, { algorithm, environment, config: rated, frozen: frozenNames });
  const { epochs, steps = 100 } = rated.training;
  const { resampleRounds } = algorithm.rollout;
  const lasting = epochs === undefined ? steps : epochSteps({ epochs, tasks, config: rated, resampleRounds });
  const config: ResolvedConfig = { ...rated, training: { ...rated.training, steps: lasting } };
  const order = await openTaskOrder(tasks, { config, cursor: checkpoint?.manifest.taskCursor, signal });

  const open = async (spec: Parameters<TrainingBackend["openModel"]>[0]): Promise<Model> => {
    const model = await backend.openModel(spec, signal === undefined ? {} : { signal });
    resources.defer(() => model.close());
    return model;
  };
  const trained = agents.filter((agent) => !frozenNames.includes(agent));
  const starting = await startingModels(config, {
    agents: { all: agents, trained },
    exported: (path) => exportStart(path, { run: output, keep: checkpoint !== undefined, backend, signal }),
  });
  const learners = await openLearners({
    plan: planLearners({ ...starting, seed: config.seed }, agents, frozenNames),
    credit: algorithm.credit,
    needsReference: needsReference(algorithm.loss) || algorithm.credit.needsReference === true,
    open,
  });
  if (checkpoint !== undefined) {
    for (const [folder, model] of trainedModels(learners)) await model.load(join(checkpoint.path, folder));
  }
  const pool = resources.use(new EnvironmentPool(environment));
  const manifest = checkpoint?.manifest;
  const lost = config.rollout.trace ? await traceLoss(tracePath(output), manifest?.traceLength ?? 0) : undefined;
  if (lost !== undefined) notes.push(lost);
  const trace = config.rollout.trace ? resources.use(await openTrace(output, manifest)) : undefined;
  const traceLength = (await trace?.flush()) ?? manifest?.traceLength;
  const evaluated = manifest?.evaluated === true && sameEvaluation(manifest.config, identity);
  const best = manifest === undefined ? undefined : await wholeBestCheckpoint(checkpoints, notes);
  const comparable = best !== undefined && sameEvaluation(best.config, identity);
  const owned = resources.move();

  return {
    config,
    defaultRateOf: learningRate === parsed.training.learningRate ? undefined : chosen.defaultOf,
    fromScratch: chosen.fromScratch,
    identity,
    algorithm,
    environment,
    pool,
    trace,
    learners,
    warnings: new EpisodeWarnings(environment),
    frozen,
    opponent,
    rewardProcessors: processors,
    tasks: order,
    heldOut,
    output,
    checkpoints,
    signal,
    activity: options.progress ?? new TrainingProgress(),
    notes,
    progress: {
      step: manifest?.step ?? 0,
      taskCursor: order.cursor,
      metrics: { ...manifest?.metrics },
      checkpoint: checkpoint && { path: checkpoint.path, step: checkpoint.manifest.step },
      evaluated: evaluated ? manifest.step : undefined,
      best: comparable ? best.metrics[config.checkpoint.best?.metric ?? ""] : undefined,
      warnedOverlong: false,
      traceLength,
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Hands out the tasks to train on: from where a checkpoint was, in shuffled passes or easy ones first. */
async function openTaskOrder(
  tasks: Taskset,
  options: {
    readonly config: TrainingConfig;
    readonly cursor: number | undefined;
    readonly signal: AbortSignal | undefined;
  },
): Promise<TaskOrder> {
  const { config, cursor, signal } = options;
  const { curriculum } = config.tasks;
  const order = { seed: deriveSeed(config.seed, "tasks"), ...(cursor === undefined ? {} : { cursor }) };
  if (curriculum === undefined || tasks.length === 0) return createTaskOrder(tasks, order);
  const { batchSize } = config.training;
  return createCurriculum(tasks, { ...curriculum, ...order, batchSize, ...(signal === undefined ? {} : { signal }) });
}

function checkBest({ checkpoint, evaluation, export: { from } }: TrainingConfig): void {
  if (from === "best" && checkpoint.best === undefined) {
    throw new LyceumError({
      code: "config.invalid",
      message: "export.from is best, and no best checkpoint is kept.",
      hint: "Say what is best: checkpoint.best: { metric: evaluation/accuracy }.",
    });
  }
  if (checkpoint.best === undefined || evaluation.split !== undefined) return;
  throw new LyceumError({
    code: "config.invalid",
    message: "checkpoint.best keeps the checkpoint of the best evaluation, and there is no evaluation.",
    hint: "Name held-out tasks, such as evaluation.split: test, and how often: evaluation.every.",
  });
}

/** Refuses, before anything is opened, a tree of joint actions that may become too large. */
function checkBranching(
  algorithm: Algorithm,
  {
    environment,
    config,
    frozen,
  }: {
    readonly environment: EnvironmentDefinition;
    readonly config: TrainingConfig;
    readonly frozen: readonly AgentId[];
  },
): void {
  const { spec } = environment;
  const shape = branching(algorithm, { spec, frozen });
  if (shape === undefined) return;
  const maxTurns = Math.min(spec.maxTurns, config.rollout.limits.turns ?? Number.POSITIVE_INFINITY);
  checkJointShape(shape, { agents: spec.agents.length, maxTurns });
}

/** Refuses a batch that does not fit into memory, before any model is opened. */
function checkBatchSize(
  tasks: Taskset,
  options: {
    readonly algorithm: Algorithm;
    readonly environment: EnvironmentDefinition;
    readonly config: TrainingConfig;
    readonly frozen: readonly AgentId[];
  },
): void {
  const { algorithm, environment, config, frozen } = options;
  const { batchSize, epochs } = config.training;
  const { spec } = environment;
  const shape = branching(algorithm, { spec, frozen });
  checkEpisodeCount({
    what: "A training step",
    tasks: epochs === undefined || tasks.length === "unbounded" ? batchSize : Math.min(batchSize, tasks.length),
    episodesPerTask: shape === undefined ? algorithm.rollout.groupSize : jointActionsPerNode(shape, spec.agents.length),
    keys: ["training.batchSize", "algorithm.groupSize"],
  });
}

function recordedRate(checkpoint: Checkpoint | undefined): number | undefined {
  const config = checkpoint?.manifest.config;
  const training = isJsonObject(config) && isJsonObject(config.training) ? config.training : {};
  return typeof training.learningRate === "number" ? training.learningRate : undefined;
}

/**
 * A resumed run takes its trace back to the checkpoint: the steps after it are played again. One that starts writes
 * over the trace of a run that left no checkpoint.
 */
async function openTrace(output: string, manifest: CheckpointManifest | undefined): Promise<TraceWriter> {
  await mkdir(output, { recursive: true });
  const length = manifest === undefined ? 0 : manifest.traceLength;
  return createIndexedTraceWriter({
    path: tracePath(output),
    append: length === undefined ? true : { length },
  });
}

function tracePath(output: string): string {
  return join(output, "trace.jsonl");
}

/** The manifest of the best checkpoint. A damaged one is put aside, with a note: the next evaluation begins anew. */
async function wholeBestCheckpoint(checkpoints: string, notes: string[]): Promise<CheckpointManifest | undefined> {
  const path = bestCheckpointPath(checkpoints);
  try {
    return await readBestCheckpoint(checkpoints);
  } catch (error) {
    const kept = await putAside(path);
    notes.push(
      `The best checkpoint is damaged and is now ${kept}: the best is that of the evaluations from here on. ` +
        `(${toErrorData(error).message})`,
    );
    return undefined;
  }
}

async function openTasks(options: {
  readonly config: TrainingConfig;
  readonly environment: EnvironmentDefinition;
  readonly signal: AbortSignal | undefined;
}): Promise<{ tasks: Taskset; heldOut: TaskEntry[] }> {
  const { config, environment } = options;
  const taskOptions = options.signal === undefined ? {} : { signal: options.signal };
  const tasks = await environment.tasks(config.tasks.split, taskOptions);
  const { split, limit, episodesPerTask } = config.evaluation;
  if (split === undefined) return { tasks, heldOut: [] };
  const taskset = await environment.tasks(split, taskOptions);
  const count = taskset.length === "unbounded" ? limit : Math.min(limit, taskset.length);
  const keys = ["evaluation.limit", "evaluation.episodesPerTask"];
  checkEpisodeCount({ what: "An evaluation", tasks: count, episodesPerTask, keys });
  const heldOut: TaskEntry[] = [];
  const seen = new Set<string>();
  const slice = new TimeSlice();
  for (let index = 0; index < count; index++) {
    await slice.pause();
    options.signal?.throwIfAborted();
    const entry = await taskset.get(index, taskOptions);
    // A mixture begins its shorter parts again: each of their tasks is played once.
    if (environment.partOf === undefined || !seen.has(entry.hash)) heldOut.push(entry);
    seen.add(entry.hash);
  }
  // What an unbounded taskset will give is not known yet: its tasks are checked again as they are taken.
  const played = memoryTaskset(
    taskset.name,
    heldOut.map((entry) => entry.task),
  );
  await checkDisjoint(tasks, played, taskOptions);
  return { tasks, heldOut };
}

function checkDemonstrations(algorithm: Algorithm, environment: EnvironmentDefinition): void {
  if (algorithm.rollout.actor !== "demonstration" || environment.demonstrate !== undefined) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `The environment "${environment.spec.id}" has no demonstrations to learn from.`,
    hint: "Choose an algorithm that learns from rewards, such as grpo, or give the environment a demonstrate function.",
  });
}

function checkEnvironmentFits(algorithm: Algorithm, { spec }: EnvironmentDefinition): void {
  const problem = algorithm.problemWith?.(spec);
  if (problem === undefined) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `The algorithm cannot learn in the environment "${spec.id}": ${problem}.`,
    hint: "Change that setting of the algorithm, or choose another environment.",
    data: { environment: spec.id, agents: [...spec.agents], maxTurns: spec.maxTurns },
  });
}
