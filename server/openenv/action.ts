import { z } from "zod";
import type { Action, AgentId } from "../../src/contract/action.ts";
import type { Json, JsonObject } from "../../src/contract/json.ts";
import type { ToolCall } from "../../src/contract/message.ts";
import { actionsSchema } from "../client/openenv/lyceum-schema.ts";

/** A tool call of a client. */
interface CallFields {
  readonly id?: string | undefined;
  readonly name: string;
  readonly arguments?: Json | undefined;
}

/** The action of one agent. */
interface AgentActionFields {
  readonly text: string;
  readonly tool_calls?: readonly CallFields[] | undefined;
}

/** The fields of an action. */
export interface ActionFields extends AgentActionFields {
  readonly actions?: Readonly<Record<string, AgentActionFields>> | undefined;
  readonly step_id?: string | undefined;
  readonly metadata?: JsonObject | undefined;
}

/** OpenEnv's actions for tools. */
export type ToolActionFields =
  | { readonly type: "list_tools" }
  | {
      readonly type: "call_tool";
      readonly tool_name: string;
      readonly arguments?: JsonObject | undefined;
    };

/** Actions come from `JSON.parse`, so that each of their values is JSON. */
const json = z.unknown() as unknown as z.ZodType<Json>;

const toolCalls = z
  .array(z.strictObject({ id: z.string().optional(), name: z.string(), arguments: json.optional() }))
  .meta({ description: "The calls of tools, in place of calls that are written in the text." });

const agentAction = z.strictObject({ text: z.string(), tool_calls: toolCalls.optional() });

/** The action of a Lyceum environment: one required text, so that clients of any environment can send it. */
export const actionSchema: z.ZodType<ActionFields> = z
  .strictObject({
    text: z.string().meta({ description: "The text of the assistant. Empty if it only calls tools." }),
    tool_calls: toolCalls.optional(),
    actions: z
      .record(z.string(), agentAction)
      .meta({ description: "The action of each agent, if several agents act. The text is then ignored." })
      .optional(),
    step_id: z.string().max(255).meta({ description: "Names the step, so that it can be repeated." }).optional(),
    metadata: z.record(z.string(), json).optional(),
  })
  .meta({ title: "LyceumAction" });

/** The actions of OpenEnv for tools, which every environment with tools accepts. */
export const toolActionSchema: z.ZodType<ToolActionFields> = z.discriminatedUnion("type", [
  z.object({ type: z.literal("list_tools") }),
  z.object({
    type: z.literal("call_tool"),
    tool_name: z.string(),
    arguments: z.record(z.string(), json).optional(),
  }),
]);

/** Returns the contract's actions for the agents that must act. */
export function actionsOf(data: ActionFields, acting: readonly AgentId[]): Readonly<Record<AgentId, Action>> {
  const given = data.metadata?.lyceum_actions;
  const exact = given === undefined ? undefined : actionsSchema.safeParse(given);
  if (exact?.success === true) return exact.data as Readonly<Record<AgentId, Action>>;
  if (data.actions !== undefined) {
    return Object.fromEntries(Object.entries(data.actions).map(([agent, fields]) => [agent, actionOf(fields)]));
  }
  const [agent = "agent"] = acting;
  return { [agent]: actionOf(data) };
}

function actionOf({ text, tool_calls = [] }: AgentActionFields): Action {
  const calls = tool_calls.map(
    ({ id, name, arguments: given = {} }, index): ToolCall => ({
      id: id ?? `call_${index}`,
      name,
      arguments: given as Json,
    }),
  );
  return {
    message: {
      role: "assistant",
      content: text === "" ? [] : [{ type: "text", text }],
      ...(calls.length === 0 ? {} : { toolCalls: calls }),
    },
    finish: calls.length === 0 ? "stop" : "tool-calls",
  };
}
