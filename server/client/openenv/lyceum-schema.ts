import { z } from "zod";

const part = z.union([
  z.object({ type: z.enum(["text", "reasoning"]), text: z.string() }),
  z.object({ type: z.literal("image"), mediaType: z.string(), data: z.string() }),
]);

const message = z.object({
  role: z.enum(["system", "user", "assistant", "tool"]),
  content: z.array(part),
  toolCalls: z
    .array(z.object({ id: z.string(), name: z.string(), arguments: z.json(), argumentsJson: z.string().optional() }))
    .optional(),
  toolCallId: z.string().optional(),
  name: z.string().optional(),
});

const tool = z.object({
  name: z.string(),
  description: z.string(),
  parameters: z.json(),
  parametersJson: z.string().optional(),
});

const error = z.object({
  name: z.string(),
  code: z.string(),
  message: z.string(),
  hint: z.string().optional(),
  data: z.json().optional(),
});

const reward = z.discriminatedUnion("status", [
  z.object({
    status: z.literal("scored"),
    value: z.number(),
    components: z.record(z.string(), z.number()),
    failure: error.optional(),
  }),
  z.object({ status: z.literal("unscored"), reason: z.string(), error: error.optional() }),
]);

/** The observations of agents, as a Lyceum server sends them. */
export const observationsSchema: z.ZodType = z.record(
  z.string(),
  z.object({
    messages: z.array(message),
    templateVariables: z.record(z.string(), z.json()).optional(),
    context: z.enum(["append", "replace"]),
    tools: z.array(tool).optional(),
    info: z.json().optional(),
  }),
);

/** The actions of agents, as a Lyceum client sends them. */
export const actionsSchema: z.ZodType = z.record(
  z.string(),
  z.object({
    message,
    finish: z.enum(["stop", "length", "tool-calls", "error"]),
    parseErrors: z.array(z.object({ message: z.string(), text: z.string() })).optional(),
  }),
);

/** The result of a step for one agent, as a Lyceum server sends it. */
export const agentStepSchema: z.ZodType = z.object({
  reward: reward.optional(),
  terminated: z.boolean(),
  truncated: z.boolean(),
});

const spec = z.object({
  id: z.string(),
  agents: z.array(z.string()).min(1),
  maxTurns: z.number(),
  rewardRange: z.tuple([z.number(), z.number()]),
  deterministic: z.boolean(),
  tools: z.array(tool).optional(),
  description: z.string().optional(),
  statesCorrect: z.boolean().optional(),
  get environments() {
    return z.record(z.string(), spec).optional();
  },
});

/** What a Lyceum server adds to the metadata of an environment. */
export const servedSchema: z.ZodType = z.object({
  spec,
  splits: z.array(z.object({ name: z.string(), length: z.union([z.number(), z.literal("unbounded")]) })),
  scoresGroups: z.boolean().optional(),
});

/** The tasks of a Lyceum server. */
export const servedTasksSchema: z.ZodType = z.object({
  tasks: z.array(z.object({ split: z.string(), index: z.number(), id: z.string(), hash: z.string() })),
});
