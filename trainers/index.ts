export {
  type AdvantageEstimator,
  advantageEstimator,
  advantageEstimators,
  groupMean,
  groupZScore,
  leaveOneOut,
  none,
} from "./advantages/index.ts";
export {
  type Algorithm,
  type AlgorithmDefinition,
  algorithmDefinition,
  algorithms,
  defineAlgorithm,
  type GrpoSettings,
  grpo,
  type RolloutShape,
  type SftSettings,
  sft,
  type UpdateSchedule,
} from "./algorithms/index.ts";
export { type Datum, datumFromIds } from "./backend/datum.ts";
export type { LossTerm } from "./backend/loss-term.ts";
export type {
  AdamParams,
  Capabilities,
  ExportFormat,
  ForwardOutput,
  ForwardResult,
  LoraSpec,
  LoraTarget,
  LossResult,
  Model,
  ModelSource,
  ModelSpec,
  StepMetrics,
  TrainableSpec,
  TrainingBackend,
} from "./backend/training-backend.ts";
export type { ModelConfig, ModelConfigInput } from "./config/model-config.ts";
export {
  parseTrainingConfig,
  type TrainingConfig,
  type TrainingConfigInput,
  trainingConfigSchema,
  trainingConfigShape,
} from "./config/training-config.ts";
export { hasSignal, type TrainingSample, trainingSamples } from "./data/training-sample.ts";
export { evaluatePolicy } from "./evaluate-policy.ts";
export { type LearningRateSchedule, learningRateAt } from "./learning-rate-schedule.ts";
export type { Loss } from "./losses/loss.ts";
export type { LossAggregation } from "./losses/loss-aggregation.ts";
export { type OpenPolicy, openModelPolicy } from "./open-policy.ts";
export { rolloutMetrics } from "./rollout-metrics.ts";
export { createTaskOrder, type TaskOrder } from "./task-order.ts";
export { train } from "./train.ts";
export type { TrainOptions } from "./training-run.ts";
export { type UpdateOptions, updatePolicy } from "./update-policy.ts";
