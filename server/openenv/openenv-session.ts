import { z } from "zod";
import type { AgentId } from "../../src/contract/action.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { type ToolSpec, textOf } from "../../src/contract/message.ts";
import type { HostedSession } from "../session/session-host.ts";
import { type ActionFields, actionSchema, actionsOf, toolActionSchema } from "./action.ts";
import { episodeBody, type ObservationBody, stepBody, textOfObservations } from "./observation.ts";

/** The fields of a reset. */
export interface ResetFields {
  readonly seed?: number | null | undefined;
  readonly episode_id?: string | null | undefined;
  readonly split?: string | null | undefined;
  readonly index?: number | null | undefined;
}

/** The schema of a reset. Other fields are ignored, as OpenEnv ignores those that an environment does not take. */
export const resetSchema: z.ZodType<ResetFields> = z
  .object({
    seed: z.int().min(0).nullish(),
    episode_id: z.string().max(255).nullish(),
    split: z.string().nullish(),
    index: z.int().min(0).nullish(),
  })
  .meta({ title: "LyceumReset" });

/** A session that takes OpenEnv's messages. */
export interface OpenEnvSession {
  readonly hosted: HostedSession;
  /** The tools of the agent that acts next. */
  tools(): readonly ToolSpec[];
  /** Takes the data of a reset message. Throws `server.invalid-request` for wrong data. */
  reset(data: unknown, options?: { readonly signal?: AbortSignal }): Promise<ObservationBody>;
  /** Takes the data of a step message: an action, or OpenEnv's `list_tools` and `call_tool`. */
  step(data: unknown, options?: { readonly signal?: AbortSignal }): Promise<ObservationBody>;
  /** Returns OpenEnv's state and the environment's own. */
  state(): Promise<Readonly<Record<string, unknown>>>;
}

/** Adapts a session to OpenEnv. `tools` are those of the environment's spec, for the time before an observation. */
export function openEnvSession(hosted: HostedSession, tools: readonly ToolSpec[] = []): OpenEnvSession {
  let acting: readonly AgentId[] = [];
  let offered = tools;

  const reset: OpenEnvSession["reset"] = async (data, { signal } = {}) => {
    const { seed, episode_id, split, index } = checked(resetSchema, data ?? {}, "reset");
    const episode = await hosted.reset({
      seed: seed ?? undefined,
      episodeId: episode_id ?? undefined,
      split: split ?? undefined,
      index: index ?? undefined,
      signal,
    });
    acting = Object.keys(episode.observations);
    offered = Object.values(episode.observations)[0]?.tools ?? tools;
    return episodeBody(episode);
  };

  const act = async (
    action: ActionFields,
    { signal, called }: { readonly signal?: AbortSignal | undefined; readonly called?: string },
  ): Promise<ObservationBody> => {
    const actions = actionsOf(action, acting);
    const result = await hosted.step({ actions, stepId: action.step_id, signal });
    acting = Object.keys(result.observations);
    offered = Object.values(result.observations)[0]?.tools ?? offered;
    if (called === undefined) return stepBody(result, { acted: Object.keys(actions) });
    const answers = Object.values(result.observations)[0]?.messages.filter(({ role }) => role === "tool") ?? [];
    const text = answers.length === 0 ? textOfObservations(result.observations) : answers.map(textOf).join("\n\n");
    return stepBody(result, {
      acted: Object.keys(actions),
      extra: { tool_name: called, result: text, error: null },
    });
  };

  const step: OpenEnvSession["step"] = async (data, { signal } = {}) => {
    const toolAction = isTyped(data) ? toolActionSchema.safeParse(data) : undefined;
    if (toolAction?.success !== true) return act(checked(actionSchema, data, "action"), { signal });
    if (toolAction.data.type === "list_tools") {
      const listed = offered.map(({ name, description, parameters }) => ({
        name,
        description,
        input_schema: parameters,
      }));
      return { observation: { text: "", tools: listed }, reward: null, done: false };
    }
    const { tool_name: name, arguments: given = {} } = toolAction.data;
    const known = offered.map((tool) => tool.name);
    if (!known.includes(name)) return unknownTool(name, known);
    return act({ text: "", tool_calls: [{ name, arguments: given }] }, { signal, called: name });
  };

  const state: OpenEnvSession["state"] = async () => {
    const { episodeId, stepCount, done, state } = await hosted.state();
    return {
      episode_id: episodeId ?? null,
      step_count: stepCount,
      done,
      ...(state === undefined ? {} : { state }),
    };
  };
  return { hosted, tools: () => offered, reset, step, state };
}

/** False for a plain action, which is the most frequent message. A failed parse costs more than this check. */
function isTyped(data: unknown): boolean {
  return typeof data === "object" && data !== null && "type" in data;
}

/** The maximum number of wrong fields that an error names. A request can have millions. */
const maxIssues = 10;

/** Parses the data of a request. Throws `server.invalid-request` with each wrong field. */
export function checked<Schema extends z.ZodType>(schema: Schema, data: unknown, what: string): z.output<Schema> {
  const result = schema.safeParse(data);
  if (result.success) return result.data;
  const errors = result.error.issues
    .slice(0, maxIssues)
    .map(({ path, message }) => ({ path: path.map(String), message }));
  throw new LyceumError({
    code: "server.invalid-request",
    message: `The ${what} is invalid: ${errors.map(({ path, message }) => `${path.join(".") || what}: ${message}`).join("; ")}.`,
    hint: "GET /schema describes the fields.",
    data: { errors },
  });
}

function unknownTool(name: string, known: readonly string[]): ObservationBody {
  const message = `There is no tool "${name}". The tools are: ${known.join(", ") || "none"}.`;
  const error = { error_type: "tool_not_found", message };
  return {
    observation: { text: message, tool_name: name, result: null, error },
    reward: null,
    done: false,
  };
}
