import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { AgentProgram } from "../contract/agent-program.ts";
import { LyceumError } from "../contract/errors/index.ts";
import type { ProgramSpecification } from "../core/policy/program-specification.ts";
import type { AgentFunction } from "../server/capture/agent-program.ts";

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

async function importAgent(
  path: string,
): Promise<{ readonly function: AgentFunction } & Pick<AgentProgram, "demonstrate">> {
  if (!existsSync(path)) {
    throw new LyceumError({
      code: "data.not-found",
      message: `There is no agent module ${path}.`,
      hint: "Give the path of the module. In a config for training it is relative to the config file, else to the current folder.",
      data: { path },
    });
  }
  const module = (await import(pathToFileURL(path).href).catch((cause: unknown) => {
    throw new LyceumError({
      code: "config.invalid",
      message: `The agent module ${path} cannot be imported: ${cause instanceof Error ? cause.message : String(cause)}`,
      hint: "Check that the module loads: run node with its path. Use --debug to print the stack.",
      data: { path },
      cause,
    });
  })) as { readonly agent?: unknown; readonly default?: unknown; readonly demonstrate?: unknown };
  const agent = module.agent ?? module.default;
  const { demonstrate } = module;
  if (typeof agent !== "function" || (demonstrate !== undefined && typeof demonstrate !== "function")) {
    throw new LyceumError({
      code: "config.invalid",
      message: `${path} exports no agent: its exports are ${Object.keys(module).join(", ") || "none"}.`,
      hint: "Export a function: export async function agent({ baseURL, apiKey, model, messages }) { ... }. If there is an export demonstrate, it is a function too.",
      data: { path },
    });
  }
  return {
    function: agent as AgentFunction,
    ...(demonstrate === undefined ? {} : { demonstrate: demonstrate as NonNullable<AgentProgram["demonstrate"]> }),
  };
}
