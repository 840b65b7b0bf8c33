import type { ToolSpec } from "../../contract/message.ts";
import { writtenAs } from "../text/exact-json.ts";

/** Returns a tool in OpenAI's chat protocol, for `JSON.stringify`. */
export function chatTool({ parametersJson, ...tool }: ToolSpec): object {
  return {
    type: "function",
    function: parametersJson === undefined ? tool : { ...tool, parameters: writtenAs(parametersJson) },
  };
}
