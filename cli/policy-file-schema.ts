import { z } from "zod";
import type { AgentId } from "../src/contract/action.ts";
import { LyceumError } from "../src/contract/errors/index.ts";
import type { SamplingSettings } from "../src/contract/sampler.ts";
import { type PolicySpecification, policySpecificationSchema } from "../src/core/policy/policy-specification.ts";
import { type ProgramSpecification, programSpecificationSchema } from "../src/core/policy/program-specification.ts";
import { servingKeys } from "../src/core/policy/serving/serving-keys.ts";
import { engineDefinition } from "./engine-policy.ts";
import { type PolicyKind, policyKinds } from "./policy-kinds.ts";

/** The settings of every policy, and the options of its definition. */
export interface CommonSettings {
  /** The name in logs. The model by default. */
  readonly name?: string | undefined;
  /** Its sampling settings. They replace those of the request. */
  readonly sampling?: Partial<SamplingSettings> | undefined;
  /** The agent program that it answers the model calls of. */
  readonly program?: ProgramSpecification | undefined;
  /** The limits of an episode, for the model that eval or collect plays with. */
  readonly limits?: { readonly turns?: number; readonly tokens?: number; readonly seconds?: number };
  readonly [option: string]: unknown;
}

const text = z.string().min(1);
const positive = z.number().positive();

/** The keys of every kind of policy, unless its definition excludes them. */
const common = {
  sampling: z
    .strictObject({
      temperature: z.number().min(0).optional().describe("0 is greedy."),
      maxTokens: z.int().positive().optional().describe("The maximum number of tokens per completion."),
      topK: z.int().positive().optional().describe("Keep the k most likely tokens."),
      topP: positive.max(1).optional().describe("Keep the most likely tokens whose total probability reaches p."),
      minP: z
        .number()
        .min(0)
        .max(1)
        .optional()
        .describe("Keep tokens whose probability is at least this fraction of the highest one."),
      stop: z.array(text).optional().describe("Stop sequences: a completion ends before one of these."),
    })
    .optional()
    .describe("Sampling settings. They replace those of the command."),
  limits: z
    .strictObject({
      turns: z.int().positive().optional().describe("The maximum number of turns of an episode."),
      tokens: z
        .int()
        .positive()
        .optional()
        .describe("The maximum number of tokens that an agent samples in an episode."),
      seconds: positive.optional().describe("The maximum duration of an episode in seconds."),
    })
    .optional()
    .describe("The limits of an episode in eval and collect. The options of these commands replace them."),
  program: programSpecificationSchema
    .optional()
    .describe("An agent program that plays. The model answers its model calls; see agents.md."),
} as const;

/** Returns the schema of the settings of a kind of policy, besides its model and its name. */
export function policySettingsSchema({ options, without = [] }: Pick<PolicyKind, "options" | "without">): z.ZodObject {
  const shared = Object.entries(common).filter(([key]) => !without.some((excluded) => excluded === key));
  return z.strictObject({ ...Object.fromEntries(shared), ...options.shape });
}

/** What the policy file of a team has in common for all its models. */
const teamSettings = policySettingsSchema({ options: engineDefinition.options, without: ["program"] });

/** The options that do not change the answers of a model, such as timeouts and keys. No log records them. */
export const unrecordedOptions: readonly string[] = [
  ...Object.keys(servingKeys),
  "baseUrl",
  "backendUrl",
  "headers",
  "headerVariables",
  "logprobs",
  "tokenIds",
  "processedLogprobs",
];

/** The content of a policy file: the settings of one model, or of a model for each agent. */
export interface PolicyFile extends CommonSettings {
  readonly model?: string;
  readonly agents?: Readonly<Record<AgentId, PolicySpecification>>;
}

/**
 * Returns the schema of a {@link PolicyFile} of one kind of policy, or of a team. It has the options of the other kinds
 * as well: {@link checkPolicyOptions} refuses them with a better hint.
 */
export function policyFileSchema(kind: PolicyKind | undefined): z.ZodType<PolicyFile> {
  const shapes = policyKinds.list().map(({ options }) => options.shape);
  return z
    .strictObject({
      model: text.optional().describe("The model, as in --model. With baseUrl, the name of the model on that server."),
      agents: z
        .record(text, policySpecificationSchema)
        .optional()
        .describe("The model of each agent, instead of model: a name, a policy file or the keys of one."),
      name: text.optional().describe("The name in logs. The model by default."),
      ...common,
      ...Object.assign({}, ...shapes),
      ...kind?.options.shape,
    })
    .check((context) => {
      const { model, agents } = context.value;
      if ((model === undefined) !== (agents === undefined)) return;
      const message = "give either model (one for every agent) or agents (a model for each)";
      context.issues.push({ code: "custom", message, input: context.value, path: [] });
    }) as unknown as z.ZodType<PolicyFile>;
}

/** Throws `config.invalid` for an option that this kind of policy, or a team, does not have. */
export function checkPolicyOptions(
  { model, name: _, ...options }: CommonSettings & Pick<PolicyFile, "model">,
  kind: PolicyKind | "team",
): void {
  const own = Object.keys((kind === "team" ? teamSettings : policySettingsSchema(kind)).shape);
  const foreign = Object.keys(options).find((option) => !own.includes(option));
  if (foreign === undefined) return;
  const owner = policyKinds.list().find((other) => foreign in other.options.shape);
  const advice =
    kind === "team"
      ? "Set other options per agent, whose value can be the keys of a policy file."
      : owner && `Policies of the kind "${owner.id}" have "${foreign}". ${owner.description}`;
  throw new LyceumError({
    code: "config.invalid",
    message: `"${foreign}" is not an option of ${model === undefined ? "a model for each agent" : `the model ${model}`}.`,
    hint: `It has: ${own.join(", ")}. ${advice ?? ""}`.trimEnd(),
    data: { model: model ?? null, option: foreign, known: own },
  });
}
