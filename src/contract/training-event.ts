import type { ErrorData } from "./errors/index.ts";
import type { Json } from "./json.ts";

/** An event of a training run. The terminal view, metrics.jsonl and the report are all created from these events. */
export type TrainingEvent =
  | RunStartEvent
  | PreflightEvent
  | ProbeEvent
  | StepEvent
  | SampleEvent
  | TrainingEvaluationEvent
  | CheckpointEvent
  | TrainingWarningEvent
  | RunEndEvent;

/** What computes a run. */
export interface Machine {
  /** The card, or the processor and its threads, such as `NVIDIA H100 80GB HBM3`. */
  readonly hardware: string;
  /** The versions of the libraries that compute, by name, such as `torch`. */
  readonly versions: Readonly<Record<string, string>>;
}

/** Sent when the run is set up, before its first step. */
export interface RunStartEvent {
  readonly type: "run-start";
  readonly algorithm: string;
  readonly environment: string;
  readonly model: { readonly name: string; readonly trainableParameters: number; readonly device: string };
  /** Absent if the backend does not know it, such as that of a server. */
  readonly machine?: Machine;
  /** In an environment with several agents: the policy of each agent, and whether it is frozen. */
  readonly agents?: Readonly<Record<string, { readonly policy: string; readonly frozen?: true }>>;
  /** The lowest and the highest reward of an episode, as the environment declares them. */
  readonly rewardRange?: readonly [minimum: number, maximum: number];
  /**
   * False if the environment does not state which episodes are correct. The metric `accuracy` of its evaluations then
   * counts episodes with the highest reward, and is not shown. Absent otherwise.
   */
  readonly definesCorrect?: false;
  readonly seed: number;
  /**
   * The learning rate after warm-up. `defaultOf` is the kind of training that the value is the default of. It is absent
   * if the config sets the value.
   */
  readonly learningRate?: { readonly value: number; readonly defaultOf?: string };
  /** The total number of steps of the run. */
  readonly steps: number;
  /**
   * The resolved config of the run, with the environment's id and options, as a config file has them. Without secrets
   * in URLs. metrics.jsonl has it in its header.
   */
  readonly config?: Json;
  /** The number of steps of the run that this one resumes. 0 for a new run. */
  readonly resumedFrom: number;
}

/** One check of a preflight. */
export interface PreflightCheck {
  /**
   * `sampled-ids`: the ids that are trained on are the sampled ones. `mask`: the loss mask covers the sampled ids and no
   * others. `logprobs`: sampler and trainer give equal log-probabilities. `update`: an optimizer step changes the
   * trainer. `sync`: a new sampler follows it. `restore`: loading a checkpoint undoes it.
   * `save`: a server could not save the weights, or keeps what was saved for these checks.
   */
  readonly name: "sampled-ids" | "mask" | "logprobs" | "update" | "sync" | "restore" | "save";
  readonly status: "passed" | "failed" | "skipped";
  /** What was compared and measured, or why the check was skipped. Differences of log-probabilities are in nats. */
  readonly detail: string;
  /** Where to look, if it failed. */
  readonly cause?: string;
  /** The learner that was checked, if the run trains several models. */
  readonly learner?: string;
}

/**
 * Sent before the first step of a new or resumed run, after checks that the model learns from what it samples. If a
 * check fails, the run ends with `preflight.failed`.
 */
export interface PreflightEvent {
  readonly type: "preflight";
  /** The last finished step. */
  readonly step: number;
  readonly checks: readonly PreflightCheck[];
  readonly elapsedMs: number;
}

/** Sent after a few tasks of the first batch were played before the first step, to check that rewards give a signal. */
export interface ProbeEvent {
  readonly type: "probe";
  readonly step: 0;
  /** The number of tasks that were played. */
  readonly groups: number;
  /** The number of groups with a signal, that is with rewards that differ. */
  readonly withSignal: number;
  /** Whether rewards must differ among the episodes of a task (`group`) or among all episodes (`batch`). */
  readonly comparison: "group" | "batch";
  /** The same metrics as those of a step. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly elapsedMs: number;
  /** The best and the worst completion. With several agents, those of the best and the worst episode. */
  readonly samples: readonly Pick<
    SampleEvent,
    "prompt" | "agent" | "completion" | "reward" | "conversation" | "rewards"
  >[];
  /** What to change if few groups have a signal. */
  readonly advice: readonly string[];
}

/**
 * Sent after each optimizer step. Metric names are `group/name`: `reward/mean`, `reward/std`, `loss/total`,
 * `kl/reference`, `tokens/sampled-per-second`, `tokens/trained`, `optimizer/learning-rate`, `optimizer/gradient-norm`,
 * `groups/without-signal`, `episodes/unscored`, `length/completion-mean`, `time/rollout-ms`, `time/update-ms`, ...
 * A metric that does not exist at this step is absent.
 */
export interface StepEvent {
  readonly type: "step";
  /** The step number, from 1. */
  readonly step: number;
  readonly steps: number;
  readonly metrics: Readonly<Record<string, number>>;
  /** The time since this process started the run, in milliseconds. */
  readonly elapsedMs: number;
  /** The expected time until the last step, in milliseconds. */
  readonly etaMs: number;
  /**
   * The length of `trace.jsonl` after this step's episodes, in bytes. It assigns episodes to steps. Absent if the run
   * writes no trace.
   */
  readonly traceLength?: number;
}

/** A completion of the model or a demonstration, for people to read. */
export interface SampleEvent {
  readonly type: "sample";
  readonly step: number;
  /** The whole prompt as one text. */
  readonly prompt: string;
  /** The messages of the prompt, if there are several. Absent if there is a `conversation`. */
  readonly messages?: readonly { readonly role: string; readonly text: string }[];
  /** The author of the completion, in an environment with several agents. */
  readonly agent?: string;
  readonly completion: string;
  readonly reward?: number;
  /** In an environment with several agents, the messages of all agents and turns, in order. */
  readonly conversation?: readonly {
    /** From 0. */
    readonly turn: number;
    /** The agent that wrote it. Absent if it is not an action. */
    readonly author?: string;
    /** The agents that read it. Absent for an action. */
    readonly readers?: readonly string[];
    readonly role: string;
    readonly text: string;
  }[];
  /** In an environment with several agents, the reward of each agent that has one. */
  readonly rewards?: Readonly<Record<string, number>>;
  readonly demonstration?: true;
}

/** Sent after an evaluation on held-out tasks. */
export interface TrainingEvaluationEvent {
  readonly type: "evaluation";
  readonly step: number;
  readonly split: string;
  /** The opponent of the model, if it did not play against itself. */
  readonly opponent?: string;
  /**
   * The metrics: `reward/mean`, `accuracy` (the share of scored episodes that are correct), `episodes/count`,
   * `episodes/unscored`, ...
   */
  readonly metrics: Readonly<Record<string, number>>;
}

/** Sent after a checkpoint has been written completely. */
export interface CheckpointEvent {
  readonly type: "checkpoint";
  readonly step: number;
  readonly path: string;
}

/** A warning for people, with advice. */
export interface TrainingWarningEvent {
  readonly type: "warning";
  readonly step: number;
  readonly message: string;
  /** The health check that raised the warning, such as `reward-hacking`. */
  readonly check?: string;
  /** The subject of the warning, if the check covers several, such as `reward/component/format`. */
  readonly subject?: string;
  /** True if the problem that this check reported earlier has cleared. */
  readonly over?: true;
}

/** The last event of a run. */
export interface RunEndEvent {
  readonly type: "run-end";
  readonly reason: "completed" | "aborted" | "failed";
  readonly step: number;
  readonly elapsedMs: number;
  /** The checkpoint to resume from, if one was written. */
  readonly checkpoint?: string;
  /** The folder that the trained model was exported to. */
  readonly exported?: string;
  /** The step after which the exported weights were saved. */
  readonly exportedStep?: number;
  /** Present if no step changed the weights: no batch had a signal to learn from. */
  readonly untrained?: true;
  readonly error?: ErrorData;
}
