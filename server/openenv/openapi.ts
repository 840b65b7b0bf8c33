import { z } from "zod";
import { actionSchema } from "./action.ts";
import { resetSchema } from "./openenv-session.ts";

type Schema = Readonly<Record<string, unknown>>;

const text = { type: "string" } as const;
const anyObject = { type: "object", additionalProperties: true } as const;

/** The JSON Schemas of an environment's actions, observations and states, as `GET /schema` returns them. */
export function environmentSchemas(): Readonly<Record<"action" | "observation" | "state" | "reset", Schema>> {
  return {
    action: z.toJSONSchema(actionSchema, { target: "draft-2020-12", io: "input" }),
    observation: observationSchema,
    state: {
      title: "LyceumState",
      type: "object",
      properties: {
        episode_id: { type: ["string", "null"] },
        step_count: { type: "integer" },
        done: { type: "boolean" },
      },
      additionalProperties: true,
    },
    reset: z.toJSONSchema(resetSchema, { target: "draft-2020-12", io: "input" }),
  };
}

const observationSchema: Schema = {
  title: "LyceumObservation",
  type: "object",
  required: ["text", "observations"],
  properties: {
    text: {
      ...text,
      description: "The new messages of the agent that acts next. Empty if several act, and at the end.",
    },
    observations: { ...anyObject, description: "The new messages of each agent that acts next, and its tools." },
    agents: { ...anyObject, description: "The reward and the end of each agent, after a step." },
    correct: { type: "boolean", description: "Whether the answer solves the task, if the environment states it." },
    info: {},
    episode_id: text,
    task_id: text,
    seed: { type: "integer" },
    split: text,
    index: { type: "integer" },
    done: { type: "boolean" },
    reward: { type: ["number", "null"] },
    metadata: anyObject,
  },
  additionalProperties: true,
};

/** The OpenAPI document of an environment server. `names` are the served environments. */
export function openApiDocument({
  version,
  names,
}: {
  readonly version: string;
  readonly names: readonly string[];
}): Schema {
  const { action, observation, state, reset } = environmentSchemas();
  const result = {
    type: "object",
    required: ["observation", "reward", "done"],
    properties: { observation, reward: { type: ["number", "null"] }, done: { type: "boolean" }, metadata: anyObject },
  };
  const step = {
    type: "object",
    required: ["action"],
    properties: { action, timeout_s: { type: "number", exclusiveMinimum: 0 }, request_id: text },
    additionalProperties: true,
  };
  const tasks = names.flatMap((name) => [
    [`/${name}/splits`, get("The splits", { type: "array", items: anyObject })],
    ...["tasks", "num_tasks", "task", "task_range"].map((route) => [
      `/${name}/${route}`,
      post(`The ${route} of a split`, { body: anyObject, answer: anyObject }),
    ]),
  ]);
  return {
    openapi: "3.1.0",
    info: { title: "Lyceum environment server", version },
    paths: {
      "/health": get("The health of the server", anyObject),
      "/ready": get("Whether the server opens sessions", anyObject),
      "/metadata": get("The name and description of the environment", anyObject),
      "/schema": get("The JSON Schemas of actions, observations and states", anyObject),
      "/reset": post("Starts an episode", { body: reset, answer: result }),
      "/step": post("Takes a step", { body: step, answer: result }),
      "/state": get("The state of a session", state),
      "/mcp": post("A request of MCP", { body: anyObject, answer: anyObject }),
      "/list_environments": get("The names of the environments", { type: "array", items: text }),
      ...Object.fromEntries(tasks),
    },
  };
}

function get(summary: string, answer: Schema): Schema {
  return { get: { summary, responses: answers(answer) } };
}

function post(summary: string, { body, answer }: { readonly body: Schema; readonly answer: Schema }): Schema {
  const requestBody = { content: { "application/json": { schema: body } } };
  return { post: { summary, requestBody, responses: answers(answer) } };
}

function answers(schema: Schema): Schema {
  return { 200: { description: "The answer", content: { "application/json": { schema } } } };
}
