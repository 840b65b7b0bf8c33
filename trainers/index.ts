export {
  type AdvantageEstimator,
  advantageEstimators,
  defineAdvantageEstimator,
  generalizedAdvantages,
  greedyBaseline,
  groupMax,
  groupMean,
  groupZScore,
  leaveOneOut,
  noBaseline,
} from "./advantages/index.ts";
export {
  type Algorithm,
  type AlgorithmDefinition,
  algorithms,
  cispo,
  dapo,
  defineAlgorithm,
  dpo,
  drGrpo,
  grpo,
  gspo,
  iac,
  ippo,
  maac,
  madpo,
  magrpo,
  mareinforce,
  maremax,
  marloo,
  ppo,
  type RolloutShape,
  reinforce,
  remax,
  rloo,
  sft,
  type UpdateSchedule,
} from "./algorithms/index.ts";
export { type Datum, datumFromIds } from "./backend/datum.ts";
export type { LossTerm } from "./backend/loss-term.ts";
export type {
  AdamParams,
  Capabilities,
  ExportDtype,
  ExportFormat,
  ForwardOutput,
  ForwardResult,
  LoraSpec,
  LossResult,
  Model,
  ModelSource,
  ModelSpec,
  PassOptions,
  PassProgress,
  StepMetrics,
  TrainableSpec,
  TrainingBackend,
} from "./backend/training-backend.ts";
export type { ModelConfig, ModelConfigInput } from "./config/model-config.ts";
export type { ResolvedConfig, TrainingConfig, TrainingConfigInput } from "./config/training-config.ts";
export {
  actorCritic,
  type Credit,
  type CreditContext,
  type CreditResult,
  type Critic,
  type CriticInput,
  type CriticSample,
  type CriticShape,
  type GroupAdvantageOptions,
  groupAdvantages,
  groupSamples,
  imitation,
  imitationSamples,
  type PlayedGroup,
  preferencePairs,
  type StepExperience,
  turnCritic,
  withKlPenalty,
} from "./credit/index.ts";
export { type TrainingEpisode, type TrainingGroup, trainingGroup } from "./data/training-group.ts";
export type { PerToken, TrainingSample } from "./data/training-sample.ts";
export type { Loss } from "./losses/loss.ts";
export type { LossAggregation } from "./losses/loss-aggregation.ts";
export type { SequenceLoss } from "./losses/sequence-loss.ts";
export { rolloutMetrics } from "./metrics/rollout-metrics.ts";
export { type OpenPolicy, openModelPolicy } from "./models/open-policy.ts";
export type { RewardContext, RewardProcessor, RewardProcessorDefinition } from "./rewards/reward-processor.ts";
export { rewardProcessors } from "./rewards/reward-processor-config.ts";
export type { TrainOptions } from "./run/training-run.ts";
export { createTaskOrder, type TaskOrder } from "./tasks/task-order.ts";
export { preflightTraining } from "./training/preflight-training.ts";
export { probeTraining } from "./training/probe-training.ts";
export { resolveConfig } from "./training/resolve-config.ts";
export {
  type PlannedStage,
  planStages,
  type Stage,
  type StageEvent,
  type StagesOptions,
  trainStages,
} from "./training/stages.ts";
export { train } from "./training/train.ts";
export { type LearningRateSchedule, learningRateAt } from "./update/learning-rate-schedule.ts";
export { type UpdateOptions, updatePolicy } from "./update/update-policy.ts";
