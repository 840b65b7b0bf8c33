import type { AgentId } from "../../src/contract/action.ts";
import type { AgentProgram } from "../../src/contract/agent-program.ts";
import { invalidConfig } from "../../src/contract/errors/index.ts";
import { checkVersion } from "../../src/contract/specification-version.ts";
import type { ProgramSpecification } from "../../src/core/policy/program-specification.ts";

/** Throws `config.invalid` if the config names a program that is not given, or if a given one is of another version. */
export function checkPrograms(options: {
  readonly given: Readonly<Record<AgentId, AgentProgram>>;
  readonly named: Readonly<Record<AgentId, ProgramSpecification>>;
}): void {
  const { given, named } = options;
  const missing = Object.keys(named).find((agent) => !Object.hasOwn(given, agent));
  if (missing !== undefined) {
    throw invalidConfig(
      `agents.programs names a program for "${missing}", but no program is given for it.`,
      "train() does not open programs by name. Pass it as train({ programs: { ... } }), as the command line does.",
    );
  }
  for (const [agent, program] of Object.entries(given)) checkVersion(`The program of agent "${agent}"`, program);
}
