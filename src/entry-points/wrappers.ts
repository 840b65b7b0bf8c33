export { clipReward } from "../core/wrappers/clip-reward.ts";
export { mapStepRewards } from "../core/wrappers/map-rewards.ts";
export { type EpisodeSink, type RecordedEpisode, record } from "../core/wrappers/record.ts";
export { scaleReward } from "../core/wrappers/scale-reward.ts";
export { timeLimit } from "../core/wrappers/time-limit.ts";
export { toolBudget } from "../core/wrappers/tool-budget.ts";
export { type ObservationContext, transformObservation } from "../core/wrappers/transform-observation.ts";
export { type WithPoliciesOptions, withPolicies } from "../core/wrappers/with-policies.ts";
export { type EpisodeStart, type WrappedEpisode, wrapEnvironment } from "../core/wrappers/wrap-environment.ts";
