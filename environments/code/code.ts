import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { EnvironmentResources } from "../../src/core/environment/environment-resources.ts";
import { defineEnvironmentEntry } from "../../src/core/environment/registry.ts";
import type { CodeProblem } from "../shared/code-benchmarks/code-problem.ts";
import { namedExpert, requiredExpert } from "../shared/code-turns/expert-edits.ts";
import { anySplitOfOneFile } from "../shared/rows/row-file.ts";
import { type CodeOptions, codeOptionsSchema, parseCodeOptions } from "./code-options.ts";
import { codeTaskFolder } from "./code-task-folder.ts";
import { pairEnvironment } from "./pair-environment.ts";
import { singleEnvironment } from "./single-environment.ts";

const description =
  "Functions written to pass tests, by one agent or by two: HumanEval, MBPP, HumanEval in JavaScript and TypeScript.";

/**
 * Creates the code environment. One agent, `agent`, writes a function, or two agents, `aux` and `main`, simultaneously
 * write a helper and the function. An episode has one or more turns. Hidden tests score the last answer. The reward is
 * unscored if the sandbox fails. The sandbox stays open as long as an instance. Throws `config.invalid` for invalid
 * options.
 */
export function codeEnvironment(
  options: Partial<CodeOptions> = {},
  resources: EnvironmentResources<"expert"> = {},
): EnvironmentDefinition<CodeProblem> {
  const parsed = parseCodeOptions(options);
  const expert = requiredExpert("code", parsed, resources.policies?.expert);
  const make = parsed.agents === 2 ? pairEnvironment : singleEnvironment;
  const environment = make({
    id: "code",
    description,
    options: parsed,
    resources: { ...resources, policies: { expert } },
  });
  return {
    ...anySplitOfOneFile(environment, parsed.path),
    taskFolder: (problem, { image }) => codeTaskFolder(problem, { options: parsed, image }),
  };
}

/** The registry entry of the code environment. */
export const codeEntry = defineEnvironmentEntry({
  id: "code",
  description,
  options: codeOptionsSchema,
  policies: (options) => namedExpert(options),
  create: (options, resources) => codeEnvironment(options, resources),
});
