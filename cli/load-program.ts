import { basename, resolve } from "node:path";
import type { AgentFunction } from "../server/capture/agent-program.ts";
import type { AgentProgram } from "../src/contract/agent-program.ts";
import type { ProgramSpecification } from "../src/core/policy/program-specification.ts";
import { importFromUser } from "./user-module.ts";

/**
 * Creates the agent program that a config or a policy file specifies. The path of a module starts from `folder`: that of a
 * config, or by default the current one. Throws `data.not-found` if the module is missing, and `config.invalid` if it cannot
 * be loaded or exports no function.
 */
export async function loadProgram(specification: ProgramSpecification, folder = "."): Promise<AgentProgram> {
  const { agentProgram } = await import("../server/capture/agent-program.ts");
  const { command, module, timeoutSeconds, maxModelCalls } = specification;
  const limits = { maxModelCalls, ...(timeoutSeconds === undefined ? {} : { timeoutMs: timeoutSeconds * 1000 }) };
  if (module === undefined) return agentProgram({ command, ...limits });
  return agentProgram({ ...(await importAgent(resolve(folder, module))), name: basename(module), ...limits });
}

function importAgent(path: string): Promise<Pick<AgentProgram, "demonstrate"> & { readonly function: AgentFunction }> {
  return importFromUser({
    path,
    what: "agent",
    hints: {
      missing:
        "Give the path of the module. In a config for training it is relative to the config file, else to the current folder.",
      lacking:
        "Export a function: export async function agent({ baseURL, apiKey, model, messages }) { ... }. If there is an export demonstrate, it is a function too.",
    },
    find: ({ agent, default: other, demonstrate }) => {
      const found = agent ?? other;
      if (typeof found !== "function" || !["undefined", "function"].includes(typeof demonstrate)) return undefined;
      return { function: found as AgentFunction, demonstrate: demonstrate as AgentProgram["demonstrate"] };
    },
  });
}
