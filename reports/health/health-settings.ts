import { z } from "zod";

/** The names of the health checks. */
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
  "evaluation-flat",
  "malformed-calls",
  "unused-tools",
] as const;

/** The name of a health check. */
export type HealthCheck = (typeof healthChecks)[number];

/** The thresholds of the health checks. The schema below describes each key. docs/trackers.md gives the reasons. */
export type HealthSettings = Readonly<z.output<typeof healthSettingsSchema>>;

const share = (): z.ZodNumber => z.number().positive().max(1);
const factor = (): z.ZodNumber => z.number().gt(1);

/** The `health` section of a config. */
export const healthSettingsSchema = z.strictObject({
  enabled: z.boolean().default(true).describe("Warn if metrics show that a run is in trouble."),
  ignore: z.array(z.enum(healthChecks)).readonly().default([]).describe("Checks to skip."),
  window: z
    .int()
    .min(2)
    .default(10)
    .describe("Number of steps over which a metric is averaged. Checks start after this many steps."),
  samplerKl: z
    .number()
    .positive()
    .default(0.05)
    .describe("sampler-kl: highest KL divergence between the sampling and the trained policy, in nats per token."),
  entropyLow: z.number().positive().default(0.02).describe("entropy-low: lowest entropy, in nats per token."),
  entropyHigh: factor()
    .default(3)
    .describe("entropy-high: largest growth factor of the entropy since the first window."),
  withoutSignal: share()
    .default(0.8)
    .describe("without-signal: highest share of unsolved groups whose rewards are all equal."),
  truncation: share()
    .default(0.25)
    .describe("truncation: highest share of completions or episodes that a limit cut off."),
  lengthGrowth: factor()
    .default(2)
    .describe("length: largest growth factor of the mean completion length since the first window."),
  lengthFall: factor().default(4).describe("length: largest factor by which the mean completion length may shrink."),
  componentFall: share()
    .default(0.3)
    .describe(
      "component-fall: largest relative fall of the reward, or of one of its components, from its best value. A component of which less than a tenth is left counts too.",
    ),
  lossRise: z
    .number()
    .positive()
    .default(0.2)
    .describe("loss-rise: largest relative rise of the loss on demonstrations from its lowest value."),
  duplicates: share()
    .default(0.5)
    .describe("duplicates: highest share of episodes that repeat another episode of their group."),
  malformedCalls: share().default(0.25).describe("malformed-calls: highest share of tool calls that cannot be parsed."),
  toolCalls: z
    .number()
    .positive()
    .default(0.05)
    .describe("unused-tools: lowest mean number of tool calls of an agent that may call tools."),
  unscored: share().default(0.05).describe("unscored: highest share of unscored episodes."),
  hidden: z
    .string()
    .min(1)
    .default("evaluation/reward/mean")
    .describe(
      "evaluation-fall: the held-out score that must not fall. reward-hacking: it falls while the training reward rises. evaluation-flat: it does not rise with the training reward.",
    ),
  standardErrors: z
    .number()
    .positive()
    .default(3)
    .describe(
      "reward-hacking, evaluation-fall, evaluation-flat: the change of a score that counts, in standard errors. component-fall and loss-rise use twice this value, and 1.6 times it for a component of which less than a tenth is left.",
    ),
});

/** The default settings of the health checks. */
export const defaultHealthSettings: HealthSettings = healthSettingsSchema.parse({});
