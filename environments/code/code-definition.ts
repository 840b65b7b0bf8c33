import type { Language } from "../../sandbox/execution.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { Taskset } from "../../src/contract/taskset.ts";
import type { EnvironmentResources } from "../../src/core/environment/environment-resources.ts";
import type { SharedResource } from "../../src/core/environment/shared-resource.ts";
import type { CodeProblem } from "../shared/code-benchmarks/code-problem.ts";
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
export function codeDefinition({ id, description, options, resources }: CodeEnvironmentParts): {
  readonly language: Language;
  readonly definition: {
    readonly id: string;
    readonly description: string;
    readonly splits: readonly string[];
    readonly tasks: (split: string, options: { readonly signal?: AbortSignal }) => Promise<Taskset<CodeProblem>>;
    readonly maxTurns: number;
    readonly rewardRange: readonly [minimum: number, maximum: number];
    readonly deterministic: boolean;
    readonly statesCorrect: true;
    readonly open: () => Promise<SharedResource<Sandbox>>;
    readonly fork: (state: undefined) => undefined;
  };
} {
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
