import { createSandbox } from "../../sandbox/create-sandbox.ts";
import { deduplicated } from "../../sandbox/grading/deduplicated.ts";
import { type Grade, gradeCode } from "../../sandbox/grading/grade-code.ts";
import { SharedSandbox } from "../../sandbox/shared-sandbox.ts";
import { defineEnvironment, type StepOutcome } from "../../src/environment/define-environment.ts";
import type { EnvironmentDefinition } from "../../src/environment/environment.ts";
import type { EnvironmentEntry } from "../../src/environment/registry.ts";
import { unscored } from "../../src/environment/reward.ts";
import type { HubOptions } from "../../src/hub/hub.ts";
import type { CodeProblem } from "../code-benchmarks/code-problem.ts";
import { codeFeedback } from "./code-feedback.ts";
import { type CodeOptions, codeOptionsSchema, parseCodeOptions } from "./code-options.ts";
import { codePrompt, fenced } from "./code-prompt.ts";
import { codeLevels, rewardComponents, rewardRanges } from "./code-reward.ts";
import { codeTasks } from "./code-tasks.ts";
import { candidateSource, replyCode } from "./reply-code.ts";

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
  const shared = new SharedSandbox(async () =>
    deduplicated(await createSandbox({ language, backend: parsed.sandbox })),
  );
  const environment = defineEnvironment<CodeProblem>({
    id: "code",
    description,
    splits,
    tasks,
    maxTurns,
    rewardRange: rewardRanges[preset],
    // What is right stays right; but how long code takes is the machine's affair.
    deterministic: false,
    reset: ({ task }) => codePrompt(task),
    step: async ({ task, text, turn, random, signal }) => {
      const isLast = turn + 1 >= maxTurns;
      const code = replyCode(text, language);
      const revise = (grade: Grade | undefined): StepOutcome<undefined> => ({
        reply: revision(parsed, { problem: task, code, grade }),
      });
      if (parsed.mode === "plain" && !isLast) return revise(undefined);
      await using hold = await shared.hold();
      const grade = await gradeCode({
        sandbox: hold.sandbox,
        code: candidateSource(task, code),
        suite: task.suite,
        seed: random.integer(0, 2 ** 31),
        ...(signal === undefined ? {} : { signal }),
      });
      if (grade.infra) return { reward: unscored(grade.error.message, grade.error) };
      const info = { status: grade.status, passed: grade.passed, sandbox: hold.sandbox.info.backend };
      if (!grade.passed && !isLast) return { ...revise(grade), info };
      return { components: rewardComponents(preset, codeLevels(grade)), info };
    },
    demonstrate: ({ solution }) => (solution === undefined ? undefined : fenced(language, solution)),
  });
  return { ...environment, create: async () => holding(await environment.create(), await shared.hold()) };
}

/** The registry's entry of the code environment. */
export const codeEntry: EnvironmentEntry = {
  id: "code",
  description,
  options: codeOptionsSchema,
  create: (options) => codeEnvironment(options),
};

/** An instance that lets go of something when it is closed. */
function holding<Instance extends Awaited<ReturnType<EnvironmentDefinition<CodeProblem>["create"]>>>(
  instance: Instance,
  hold: AsyncDisposable,
): Pick<Instance, "specificationVersion" | "spec" | "reset" | "step" | "close"> {
  const { specificationVersion, spec } = instance;
  return {
    specificationVersion,
    spec,
    reset: (options) => instance.reset(options),
    step: (actions, options) => instance.step(actions, options),
    close: async () => {
      await instance.close();
      await hold[Symbol.asyncDispose]();
    },
  };
}

/** What the agent reads before it tries again. */
function revision(
  { originalPrompt, previousResponse, mode, sandboxSlice }: CodeOptions,
  { problem, code, grade }: { problem: CodeProblem; code: string; grade: Grade | undefined },
): string {
  const feedback = codeFeedback({
    problem,
    grade: grade?.infra === false ? grade : undefined,
    mode,
    sandboxSlice,
  });
  return [
    ...(originalPrompt ? [codePrompt(problem)] : []),
    ...(previousResponse ? [`Your code:\n\n${fenced(problem.suite.language, code)}`] : []),
    ...(feedback === "" ? [] : [feedback]),
    `Revise \`${problem.entryPoint}\`. Answer with one code block that holds the whole function, and its imports and helpers.`,
  ].join("\n\n");
}
