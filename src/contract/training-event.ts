import type { ErrorData } from "./errors/index.ts";

/** What a training run tells while it goes on: the one source of the terminal view, metrics.jsonl and the report. */
export type TrainingEvent =
  | RunStartEvent
  | ProbeEvent
  | StepEvent
  | SampleEvent
  | EvaluationEvent
  | CheckpointEvent
  | WarningEvent
  | RunEndEvent;

/** The run is set up and its first step begins. */
export interface RunStartEvent {
  readonly type: "run-start";
  readonly algorithm: string;
  readonly environment: string;
  readonly model: { readonly name: string; readonly trainableParameters: number; readonly device: string };
  /** Of an environment of several agents: the policy that plays each, and whether it is frozen. */
  readonly agents?: Readonly<Record<string, { readonly policy: string; readonly frozen?: true }>>;
  /** The least and the greatest reward of an episode, as the environment declares them. */
  readonly rewardRange?: readonly [minimum: number, maximum: number];
  readonly seed: number;
  /** After warm-up; with the kind of training that it is the default of, unless the config gives it. */
  readonly learningRate?: { readonly value: number; readonly defaultOf?: string };
  /** Steps the run takes in all. */
  readonly steps: number;
  /** Steps already taken by the run that this one resumes; 0 for a new run. */
  readonly resumedFrom: number;
}

/** A few tasks of the first batch were played before the first step, to see whether their rewards teach anything. */
export interface ProbeEvent {
  readonly type: "probe";
  readonly step: 0;
  /** Tasks that were played. */
  readonly groups: number;
  /** Those whose episodes teach something, because their rewards differ. */
  readonly withSignal: number;
  /** Whether rewards must differ among the episodes of a task, or among all. */
  readonly comparison: "group" | "batch";
  /** As those of a step. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly elapsedMs: number;
  /** The best and the worst completion. */
  readonly samples: readonly Pick<SampleEvent, "prompt" | "completion" | "reward">[];
  /** What to change, if few groups have a signal. */
  readonly advice: readonly string[];
}

/**
 * One optimizer step is done. Metric names are `group/name`: `reward/mean`, `reward/std`, `loss/total`, `kl/reference`,
 * `tokens/sampled-per-second`, `tokens/trained`, `optimizer/learning-rate`, `optimizer/gradient-norm`,
 * `groups/without-signal`, `episodes/unscored`, `length/completion-mean`, `time/rollout-ms`, `time/update-ms`, ...
 * A metric that does not exist at this step is absent.
 */
export interface StepEvent {
  readonly type: "step";
  /** From 1. */
  readonly step: number;
  readonly steps: number;
  readonly metrics: Readonly<Record<string, number>>;
  /** Since the run (this process) started. */
  readonly elapsedMs: number;
  /** Expected time until the last step. */
  readonly etaMs: number;
  /** Bytes of `trace.jsonl` with the step's episodes, where the run keeps one: tells the step of an episode. */
  readonly traceLength?: number;
}

/** A completion to look at: one of the model's, or a demonstration that it learns. */
export interface SampleEvent {
  readonly type: "sample";
  readonly step: number;
  /** Everything that the model read, as one text. */
  readonly prompt: string;
  /** The messages of the prompt, if there are several. */
  readonly messages?: readonly { readonly role: string; readonly text: string }[];
  /** Who wrote the completion, in an environment of several agents. */
  readonly agent?: string;
  readonly completion: string;
  readonly reward?: number;
  readonly demonstration?: true;
}

/** Held-out tasks were played. */
export interface EvaluationEvent {
  readonly type: "evaluation";
  readonly step: number;
  readonly split: string;
  /** What the model played against, in place of itself. */
  readonly opponent?: string;
  /** `reward/mean`, `accuracy` (share of episodes at the top reward), `episodes`, `episodes/unscored`, ... */
  readonly metrics: Readonly<Record<string, number>>;
}

/** A checkpoint is on disk, complete. */
export interface CheckpointEvent {
  readonly type: "checkpoint";
  readonly step: number;
  readonly path: string;
}

/** Something a person should know, and what to do about it. */
export interface WarningEvent {
  readonly type: "warning";
  readonly step: number;
  readonly message: string;
  /** The check of the run's health that found it, such as `reward-hacking`. */
  readonly check?: string;
  /** What it was found in, where a check looks at several things, such as `reward/component/format`. */
  readonly subject?: string;
  /** It is the end of what that check had found. */
  readonly over?: true;
}

/** The last event of a run. */
export interface RunEndEvent {
  readonly type: "run-end";
  readonly reason: "completed" | "aborted" | "failed";
  readonly step: number;
  readonly elapsedMs: number;
  /** The checkpoint to resume from, where one was written. */
  readonly checkpoint?: string;
  /** The folder that the trained model was exported to. */
  readonly exported?: string;
  /** After which step its weights were so. */
  readonly exportedStep?: number;
  readonly error?: ErrorData;
}
