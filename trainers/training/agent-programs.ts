import type { AgentId } from "../../src/contract/action.ts";
import type { AgentProgram } from "../../src/contract/agent-program.ts";
import { invalidConfig, unknownNameError } from "../../src/contract/errors/index.ts";
import { checkVersion } from "../../src/contract/specification-version.ts";
import type { ProgramSpecification } from "../../src/core/policy/program-specification.ts";

/**
 * Checks the programs of a run. Throws `config.unknown-name` if the environment does not have the agent of a program, and
 * `config.invalid` if a frozen agent has one, or if the config names a program that is not given.
 */
export function checkPrograms(options: {
  readonly given: Readonly<Record<AgentId, AgentProgram>>;
  readonly named: Readonly<Record<AgentId, ProgramSpecification>>;
  readonly agents: readonly AgentId[];
  readonly frozen: readonly AgentId[];
}): void {
  const { given, named, agents, frozen } = options;
  const names = [...new Set([...Object.keys(given), ...Object.keys(named)])];
  const unknown = names.find((agent) => !agents.includes(agent));
  if (unknown !== undefined) throw unknownNameError({ kind: "agent", name: unknown, known: agents });
  const both = names.find((agent) => frozen.includes(agent));
  if (both !== undefined) {
    throw invalidConfig(
      `The agent "${both}" has both a program to train (agents.programs) and a frozen policy (agents.policies).`,
      "Remove it from one of them.",
    );
  }
  const missing = Object.keys(named).find((agent) => !Object.hasOwn(given, agent));
  if (missing !== undefined) {
    throw invalidConfig(
      `agents.programs names a program for "${missing}", but no program is given for it.`,
      "train() does not open programs by name. Pass it as train({ programs: { ... } }), as the command line does.",
    );
  }
  for (const [agent, program] of Object.entries(given)) checkVersion(`The program of agent "${agent}"`, program);
}
