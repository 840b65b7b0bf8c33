import { z } from "zod";
import type { Json } from "../../../src/contract/json.ts";
import type { ToolSpec } from "../../../src/contract/message.ts";
import { exactField, refuse } from "./read-request.ts";

/** A tool of the chat protocol. */
export const functionTool: z.ZodType<FunctionTool> = z.object({
  type: z.literal("function"),
  function: z.object({
    name: z.string().min(1),
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.json()).nullish(),
    parametersJson: z.string().optional(),
  }),
});

interface FunctionTool {
  readonly type: "function";
  readonly function: FunctionSpec;
}

/** The description of a function in OpenAI's protocols. */
export interface FunctionSpec {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly parameters?: Readonly<Record<string, Json>> | null | undefined;
  readonly parametersJson?: string | undefined;
}

/** Returns the tools of a request, without any if the client forbids calls. A forced call is refused. */
export function calledTools(
  tools: readonly FunctionTool[] | null | undefined,
  choice: unknown,
): readonly ToolSpec[] | undefined {
  return chosenTools(
    (tools ?? []).map(({ function: spec }) => toolSpec(spec)),
    choice,
  );
}

/** Returns the tools that a choice leaves. */
export function chosenTools(tools: readonly ToolSpec[], choice: unknown): readonly ToolSpec[] | undefined {
  refuse("A tool_choice other than auto and none", choice, ["auto", "none"]);
  return choice === "none" || tools.length === 0 ? undefined : tools;
}

/** Converts the description of a function. */
export function toolSpec({ name, description, parameters, parametersJson }: FunctionSpec): ToolSpec {
  return {
    ...{ name, description: description ?? "", parameters: parameters ?? { type: "object", properties: {} } },
    ...exactField("parametersJson", parametersJson, parameters),
  };
}
