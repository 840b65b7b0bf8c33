import type { EnvironmentResources } from "../../src/core/environment/environment-resources.ts";
import { sandboxOpener } from "../shared/code-turns/open-sandbox.ts";
import { episodeRange } from "../shared/code-turns/reward-every-turn.ts";
import type { CodeOptions } from "./code-options.ts";
import { rewardRange } from "./code-reward.ts";
import { codeTasks } from "./code-tasks.ts";

/** The validated parts of the code environment, for one or two agents. */
export interface CodeEnvironmentParts {
  readonly id: string;
  readonly description: string;
  readonly options: CodeOptions;
  readonly resources: EnvironmentResources<"expert">;
}

/** Returns the common parts of both environments' definitions, and the language of their tasks. */
export function codeDefinition({ id, description, options, resources }: CodeEnvironmentParts) {
  const { splits, language, tasks } = codeTasks(options, resources.hub ?? {});
  const definition = {
    id,
    description,
    splits,
    tasks,
    maxTurns: options.maxTurns,
    rewardRange: episodeRange(rewardRange(options), options),
    // The run time of code depends on the machine.
    deterministic: false,
    statesCorrect: true as const,
    open: sandboxOpener({ language, sandbox: options.sandbox }),
    fork: (state: undefined) => state,
  };
  return { language, definition };
}
