export { clipReward } from "../wrappers/clip-reward.ts";
export { type EpisodeSink, type RecordedEpisode, record } from "../wrappers/record.ts";
export { scaleReward } from "../wrappers/scale-reward.ts";
export { timeLimit } from "../wrappers/time-limit.ts";
export { toolBudget } from "../wrappers/tool-budget.ts";
export { type ObservationPlace, transformObservation } from "../wrappers/transform-observation.ts";
export { type SeatOptions, withPolicies } from "../wrappers/with-policies.ts";
