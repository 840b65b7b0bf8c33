import type { ToolSpec } from "../../src/contract/message.ts";
import type { ServedEnvironment } from "../session/environment-runner.ts";
import { blockTypes } from "./blocks.ts";

const description = "Sends a message to the environment.";

/**
 * Returns the name of the tool that takes the agent's messages: `answer`, followed by `_` for as long as the
 * environment has a tool with that name.
 */
export function messageToolName(tools: readonly ToolSpec[]): string {
  let name = "answer";
  while (tools.some((tool) => tool.name === name)) name += "_";
  return name;
}

/**
 * Returns ORS's list of tools. ORS has only tools, so that messages need one too. It is ORS's terminal tool, which
 * takes the final message, if an episode has one turn or the environment has tools. Else it is an ordinary tool.
 */
export function toolList(
  { spec, scoresGroups = false }: ServedEnvironment,
  tools: readonly ToolSpec[],
): Readonly<Record<string, unknown>> {
  const name = messageToolName(tools);
  const isFinal = spec.maxTurns === 1 || tools.length > 0;
  const schema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
  return {
    tools: [
      ...tools.map((tool) => ({ name: tool.name, description: tool.description, input_schema: tool.parameters })),
      ...(isFinal ? [] : [{ name, description, input_schema: schema }]),
    ],
    terminal_tool: isFinal ? { name, arg: "text", description } : null,
    supports_score_group: scoresGroups,
    message_block_types: blockTypes,
  };
}
