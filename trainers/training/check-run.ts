import type { AgentId } from "../../src/contract/action.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { invalidConfig, unknownNameError } from "../../src/contract/errors/index.ts";
import type { Taskset } from "../../src/contract/taskset.ts";
import { checkEpisodeCount } from "../../src/core/rollout/episode-memory.ts";
import { checkJointShape, jointActionsPerNode } from "../../src/core/rollout/joint-shape.ts";
import type { Algorithm } from "../algorithms/index.ts";
import type { TrainingConfig } from "../config/training-config.ts";
import { checkEvaluationOpponent } from "../evaluation/evaluation-opponent.ts";
import { branching } from "../rollouts/branching.ts";
import type { TrainingRun } from "../run/training-run.ts";
import { checkLearnable } from "./check-learnable.ts";

/** What is known of a run before it opens a model. */
export interface CheckedRun {
  readonly config: TrainingConfig;
  readonly algorithm: Algorithm;
  readonly environment: EnvironmentDefinition;
  /** The agents that are not trained: a given policy plays each. */
  readonly frozen: readonly AgentId[];
  /** The agents that a program plays. */
  readonly programs: readonly AgentId[];
}

/**
 * Checks a run against its environment, before a model or a backend is opened. Throws `config.invalid` or
 * `config.unknown-name`.
 */
export function checkRun(run: CheckedRun): void {
  const { config, algorithm, environment } = run;
  checkLearnable(algorithm, { environment, config });
  checkEnvironmentFits(run);
  checkAgents(run);
  if (config.evaluation.opponent !== undefined) checkEvaluationOpponent(run);
  checkBranching(run);
  checkBest(config);
}

/** Throws if an algorithm needs demonstrations, and neither the environment nor the agents' programs give any. */
export function checkDemonstrations(
  { algorithm, environment, frozen }: Omit<CheckedRun, "programs">,
  programs: TrainingRun["programs"],
): void {
  if (algorithm.rollout.actor !== "demonstration" || environment.demonstrate !== undefined) return;
  const trained = environment.spec.agents.filter((agent) => !frozen.includes(agent));
  if (trained.every((agent) => programs[agent]?.demonstrate !== undefined)) return;
  throw invalidConfig(
    `The environment "${environment.spec.id}" has no demonstrations to learn from.`,
    "Choose an algorithm that learns from rewards, such as grpo, or give the environment a demonstrate function.",
  );
}

/** Throws `config.invalid` if the episodes of a training step do not fit into memory. */
export function checkBatchSize(
  tasks: Taskset,
  { algorithm, environment, config, frozen }: Omit<CheckedRun, "programs">,
): void {
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

/**
 * Returns the number of tasks that an evaluation plays. Throws `config.invalid` if their episodes do not fit into memory.
 */
export function evaluatedTaskCount({ length }: Taskset, { evaluation }: TrainingConfig): number {
  const { limit, episodesPerTask } = evaluation;
  const tasks = length === "unbounded" ? limit : Math.min(limit, length);
  const keys = ["evaluation.limit", "evaluation.episodesPerTask"];
  checkEpisodeCount({ what: "An evaluation", tasks, episodesPerTask, keys });
  return tasks;
}

function checkEnvironmentFits({ algorithm, environment: { spec } }: CheckedRun): void {
  const problem = algorithm.problemWith?.(spec);
  if (problem === undefined) return;
  throw invalidConfig(
    `The algorithm cannot learn in the environment "${spec.id}": ${problem}.`,
    "Change that setting of the algorithm, or choose another environment.",
    { environment: spec.id, agents: [...spec.agents], maxTurns: spec.maxTurns },
  );
}

/** Throws if an agent is unknown, is both trained and frozen, or if no agent is left to train. */
function checkAgents({ config, environment, frozen, programs }: CheckedRun): void {
  const { agents } = environment.spec;
  const models = Object.keys(config.agents.models);
  const unknown = [...frozen, ...models, ...programs].find((agent) => !agents.includes(agent));
  if (unknown !== undefined) throw unknownNameError({ kind: "agent", name: unknown, known: agents });
  for (const agent of frozen) {
    if (models.includes(agent)) {
      throw invalidConfig(
        `The agent "${agent}" has both a model to train (agents.models) and a frozen policy (agents.policies).`,
        "Remove it from agents.policies to train it, or from agents.models to freeze it.",
      );
    }
    if (programs.includes(agent)) {
      throw invalidConfig(
        `The agent "${agent}" has both a program to train (agents.programs) and a frozen policy (agents.policies).`,
        "Remove it from one of them.",
      );
    }
  }
  if (agents.every((agent) => frozen.includes(agent))) {
    throw invalidConfig(
      `No agent is left to train: every agent (${agents.join(", ")}) has a frozen policy.`,
      "Remove at least one agent from agents.policies. To play without training, use lyceum eval or lyceum collect.",
    );
  }
}

/** Throws if a tree of joint actions may become too large. */
function checkBranching({ algorithm, environment, config, frozen }: CheckedRun): void {
  const { spec } = environment;
  const shape = branching(algorithm, { spec, frozen });
  if (shape === undefined) return;
  const maxTurns = Math.min(spec.maxTurns, config.rollout.limits.turns ?? Number.POSITIVE_INFINITY);
  checkJointShape(shape, { agents: spec.agents.length, maxTurns });
}

function checkBest({ checkpoint, evaluation, export: { from } }: TrainingConfig): void {
  if (from === "best" && checkpoint.best === undefined) {
    throw invalidConfig(
      "export.from is best, but no best checkpoint is kept.",
      "Set checkpoint.best, such as { metric: evaluation/accuracy }.",
    );
  }
  if (checkpoint.best === undefined || evaluation.split !== undefined) return;
  throw invalidConfig(
    "checkpoint.best keeps the checkpoint of the best evaluation, but there is no evaluation.",
    "Name held-out tasks, such as evaluation.split: test, and set evaluation.every.",
  );
}
