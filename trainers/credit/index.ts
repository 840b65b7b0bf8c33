export { type ActorCriticOptions, actorCritic } from "./actor-critic.ts";
export type {
  Credit,
  CreditContext,
  CreditResult,
  Critic,
  CriticInput,
  CriticSample,
  CriticShape,
  PlayedGroup,
  StepExperience,
} from "./credit.ts";
export { type GroupAdvantageOptions, groupAdvantages, groupSamples } from "./group-advantages.ts";
export { imitation, imitationSamples } from "./imitation.ts";
export { withKlPenalty } from "./kl-penalty.ts";
export { type PreferencePairOptions, preferencePairs } from "./preference-pairs.ts";
export { type TurnCriticOptions, turnCritic } from "./turn-critic.ts";
