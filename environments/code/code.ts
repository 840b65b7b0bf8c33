import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { EnvironmentEntry } from "../../src/core/environment/registry.ts";
import type { CodeProblem } from "../shared/code-benchmarks/code-problem.ts";
import type { CodeResources } from "../shared/code-turns/code-resources.ts";
import { namedExpert, requiredExpert } from "../shared/code-turns/expert-edits.ts";
import { anySplitOfOneFile } from "../shared/rows/row-file.ts";
import { type CodeOptions, codeOptionsSchema, parseCodeOptions } from "./code-options.ts";
import { pairEnvironment } from "./pair-environment.ts";
import { singleEnvironment } from "./single-environment.ts";

const description =
  "Functions written to pass tests, by one agent or by two: HumanEval, MBPP, HumanEval in JavaScript and TypeScript.";

/**
 * The code environment. One agent, called `agent`, writes a function, or two, `aux` and `main`, write a helper and the
 * function at the same time, over one turn or several; the last answer earns what hidden tests say, and nothing is
 * earned or lost where the sandbox fails. The sandbox is open while an instance is. Throws `config.invalid` where the
 * options are not what the schema asks for.
 */
export function codeEnvironment(
  options: Partial<CodeOptions> = {},
  resources: CodeResources = {},
): EnvironmentDefinition<CodeProblem> {
  const parsed = parseCodeOptions(options);
  const expert = requiredExpert("code", parsed, resources.expert);
  const make = parsed.agents === 2 ? pairEnvironment : singleEnvironment;
  const environment = make({
    id: "code",
    description,
    options: parsed,
    resources: { ...resources, ...(expert === undefined ? {} : { expert }) },
  });
  return anySplitOfOneFile(environment, parsed.path);
}

/** The registry's entry of the code environment. */
export const codeEntry: EnvironmentEntry = {
  id: "code",
  description,
  options: codeOptionsSchema,
  policies: (options) => namedExpert(options as unknown as CodeOptions),
  create: (options, resources) => codeEnvironment(options, resources),
};
