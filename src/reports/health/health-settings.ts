import { z } from "zod";

/** What is watched in a run. */
const healthChecks = [
  "sampler-kl",
  "entropy-low",
  "entropy-high",
  "without-signal",
  "truncation",
  "length",
  "component-fall",
  "duplicates",
  "unscored",
  "reward-hacking",
  "loss-rise",
  "evaluation-fall",
] as const;

/** The name of one check. */
export type HealthCheck = (typeof healthChecks)[number];

/** From when on a run is in trouble. Each key is described in the schema below; the reasons are in docs/trackers.md. */
export interface HealthSettings {
  readonly enabled: boolean;
  readonly ignore: readonly HealthCheck[];
  readonly window: number;
  readonly samplerKl: number;
  readonly entropyLow: number;
  readonly entropyHigh: number;
  readonly withoutSignal: number;
  readonly truncation: number;
  readonly lengthGrowth: number;
  readonly lengthFall: number;
  readonly componentFall: number;
  readonly lossRise: number;
  readonly duplicates: number;
  readonly unscored: number;
  readonly hidden: string;
  readonly standardErrors: number;
}

const share = (): z.ZodNumber => z.number().positive().max(1);
const factor = (): z.ZodNumber => z.number().gt(1);

/** The `health` section of a config. */
export const healthSettingsSchema: z.ZodType<HealthSettings> = z.strictObject({
  enabled: z.boolean().default(true).describe("Warn of signs that a run is in trouble."),
  ignore: z.array(z.enum(healthChecks)).default([]).describe("Checks that are left out."),
  window: z.int().min(2).default(10).describe("Steps that a metric is averaged over; checks wait for so many."),
  samplerKl: z
    .number()
    .positive()
    .default(0.05)
    .describe("sampler-kl: most KL divergence between the sampling and the trained policy, nats per token."),
  entropyLow: z.number().positive().default(0.02).describe("entropy-low: least entropy, nats per token."),
  entropyHigh: factor().default(3).describe("entropy-high: most growth of the entropy since the first window."),
  withoutSignal: share()
    .default(0.8)
    .describe("without-signal: most of the groups not at the top whose rewards are all equal."),
  truncation: share().default(0.25).describe("truncation: most actions or episodes that a limit cut off."),
  lengthGrowth: factor().default(2).describe("length: most growth of the mean completion since the first window."),
  lengthFall: factor().default(4).describe("length: most shrinking of it, as a factor."),
  componentFall: share()
    .default(0.3)
    .describe("component-fall: most fall of the reward or one of its components from its best, as a share of it."),
  lossRise: z
    .number()
    .positive()
    .default(0.2)
    .describe("loss-rise: most rise of the loss of demonstrations from its lowest, as a share of it."),
  duplicates: share().default(0.5).describe("duplicates: most episodes that repeat another of their group."),
  unscored: share().default(0.05).describe("unscored: most episodes that could not be scored."),
  hidden: z
    .string()
    .min(1)
    .default("evaluation/reward/mean")
    .describe("evaluation-fall: the score that must not fall; reward-hacking: while the training reward rises."),
  standardErrors: z
    .number()
    .positive()
    .default(3)
    .describe(
      "reward-hacking, evaluation-fall: how far a score must have moved; component-fall and loss-rise ask twice that.",
    ),
});

/** Every threshold at its default. */
export const defaultHealthSettings: HealthSettings = healthSettingsSchema.parse({});
