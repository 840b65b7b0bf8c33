import { gradeCode } from "../../sandbox/grading/grade-code.ts";
import type { SandboxHold } from "../../sandbox/shared-sandbox.ts";
import { defineEnvironment } from "../../src/environment/define-environment.ts";
import type { EnvironmentDefinition } from "../../src/environment/environment.ts";
import type { EnvironmentEntry } from "../../src/environment/registry.ts";
import { unscored } from "../../src/environment/reward.ts";
import type { HubOptions } from "../../src/hub/hub.ts";
import type { CodeProblem } from "../code-benchmarks/code-problem.ts";
import { fenced } from "../code-turns/code-block.ts";
import { codeFeedback } from "../code-turns/code-feedback.ts";
import { codeLevels } from "../code-turns/code-levels.ts";
import { sandboxOpener } from "../code-turns/open-sandbox.ts";
import { replyCode } from "../code-turns/reply-code.ts";
import { revisionPrompt } from "../code-turns/revision-prompt.ts";
import { type CodeOptions, codeOptionsSchema, parseCodeOptions } from "./code-options.ts";
import { codePrompt, codeRevisionAsk, promptHelpers } from "./code-prompt.ts";
import { rewardComponents, rewardRanges } from "./code-reward.ts";
import { codeTasks } from "./code-tasks.ts";

const description = "Functions written to pass tests: HumanEval, MBPP, and HumanEval in JavaScript and TypeScript.";

/**
 * The code environment. One agent writes a function, over one turn or several; its last reply earns what hidden tests
 * say, and nothing is earned or lost where the sandbox fails. The sandbox is open while an instance is. `hub` says how
 * the hub is reached. Throws `config.invalid` where the options are not what the schema asks for.
 */
export function codeEnvironment(
  options: Partial<CodeOptions> = {},
  hub: HubOptions = {},
): EnvironmentDefinition<CodeProblem> {
  const parsed = parseCodeOptions(options);
  const { maxTurns, reward: preset } = parsed;
  const { splits, language, tasks } = codeTasks(parsed, hub);
  return defineEnvironment<CodeProblem, undefined, SandboxHold>({
    id: "code",
    description,
    splits,
    tasks,
    maxTurns,
    rewardRange: rewardRanges[preset],
    // What is right stays right; but how long code takes is the machine's affair.
    deterministic: false,
    open: sandboxOpener({ language, sandbox: parsed.sandbox }),
    reset: ({ task }) => codePrompt(task),
    step: async ({ task, text, turn, random, held: { sandbox }, signal }) => {
      const isLast = turn + 1 >= maxTurns;
      const code = replyCode(text, language);
      const helpers = promptHelpers(task);
      const revision = (feedback: string) => ({
        reply: revisionPrompt(parsed, {
          language,
          original: codePrompt(task),
          code,
          feedback,
          ask: codeRevisionAsk(task),
        }),
        context: parsed.history === "latest" ? ("replace" as const) : ("append" as const),
      });
      if (parsed.mode === "plain" && !isLast) return revision("");
      const grade = await gradeCode({
        sandbox,
        code: helpers + code,
        suite: task.suite,
        seed: random.integer(0, 2 ** 31),
        ...(signal === undefined ? {} : { signal }),
      });
      if (grade.infra) return { reward: unscored(grade.error.message, grade.error) };
      const info = { status: grade.status, passed: grade.passed, sandbox: sandbox.info.backend };
      if (grade.passed || isLast) return { components: rewardComponents(preset, codeLevels(grade)), info };
      const definitions = [{ name: task.entryPoint, found: codeLevels(grade).definition }];
      const linesBefore = helpers.split("\n").length - 1;
      return { ...revision(codeFeedback(parsed, { grade, definitions, linesBefore })), info };
    },
    demonstrate: ({ solution }) => (solution === undefined ? undefined : fenced(language, solution)),
  });
}

/** The registry's entry of the code environment. */
export const codeEntry: EnvironmentEntry = {
  id: "code",
  description,
  options: codeOptionsSchema,
  create: (options) => codeEnvironment(options),
};
