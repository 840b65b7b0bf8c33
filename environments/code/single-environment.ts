import { gradeCode } from "../../sandbox/grading/grade-code.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { ErrorData } from "../../src/contract/errors/index.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import type { SharedResource } from "../../src/core/environment/shared-resource.ts";
import type { CodeProblem } from "../shared/code-benchmarks/code-problem.ts";
import { fenced } from "../shared/code-turns/code-block.ts";
import { codeFeedback, singleReport } from "../shared/code-turns/code-feedback.ts";
import { codeLevels } from "../shared/code-turns/code-levels.ts";
import { joinSource } from "../shared/code-turns/join-source.ts";
import { type JudgedTurn, playTurn, type TurnRun } from "../shared/code-turns/play-turn.ts";
import { replyCode, testCode } from "../shared/code-turns/reply-code.ts";
import { turnInfo } from "../shared/code-turns/turn-info.ts";
import { visibleRun } from "../shared/code-turns/visible-run.ts";
import { visibleTests } from "../shared/code-turns/visible-tests.ts";
import { type CodeEnvironmentParts, codeDefinition } from "./code-definition.ts";
import type { CodeOptions } from "./code-options.ts";
import { codePrompt, promptHelpers, revisionAsk } from "./code-prompt.ts";
import { rewardComponents } from "./code-reward.ts";

/** Creates the code environment with one agent from validated options. */
export function singleEnvironment(parts: CodeEnvironmentParts): EnvironmentDefinition<CodeProblem> {
  const { options } = parts;
  const expert = parts.resources.policies?.expert;
  const { maxTurns, rewardEveryTurn } = options;
  const { language, definition } = codeDefinition(parts);
  return defineEnvironment<CodeProblem, undefined, SharedResource<Sandbox>>({
    ...definition,
    reset: ({ task }) => codePrompt(task),
    step: async ({ task, text, turn, random, opened: { value: sandbox }, signal }) => {
      const { entryPoint, suite } = task;
      const code = replyCode(text, { language, names: [entryPoint], usedBy: testCode(suite) });
      const own = { original: codePrompt(task), code, names: [entryPoint], ask: revisionAsk(entryPoint) };
      const seed = random.integer(0, 2 ** 31);
      const tests = visibleTests(suite).map((test) => test.text);
      const result = await playTurn<"agent", SingleEarned>(
        { options, language, agents: [{ agent: "agent", ...own }] },
        {
          isLast: turn + 1 >= maxTurns,
          rewardEveryTurn,
          expert,
          request: { problem: task.prompt, tests, seed, signal },
          judge: () => judgeCode(options, { sandbox, task, code, turn, seed, signal }),
        },
      );
      return single(result);
    },
    demonstrate: ({ solution }) =>
      solution === undefined
        ? undefined
        : Array.from({ length: rewardEveryTurn ? maxTurns : 1 }, () => fenced(language, solution)),
  });
}

interface SingleEarned {
  readonly components: ReturnType<typeof rewardComponents>;
}

/** Grades the code of a turn. */
async function judgeCode(
  options: CodeOptions,
  given: TurnRun & { readonly task: CodeProblem; readonly code: string },
): Promise<JudgedTurn<SingleEarned> | { readonly error: ErrorData }> {
  const { task, turn, code, ...run } = given;
  const { entryPoint, suite } = task;
  const { source, linesBefore } = joinSource(suite.language, [promptHelpers(task), code]);
  const grading = { ...run, code: source, suite };
  const grade = await gradeCode(grading);
  if (grade.infra) return grade;
  const components = rewardComponents(options.reward, { levels: codeLevels(grade) });
  return {
    earned: { components },
    correct: grade.passed,
    info: turnInfo({ turn, grade, sandbox: run.sandbox.info.backend, components }),
    feedback: async () => {
      const visible = await visibleRun({ ...grading, name: entryPoint, grade });
      const report = singleReport(visible, { name: entryPoint, linesBefore: linesBefore[1]! });
      return [codeFeedback(options, { passed: grade.passed, visible, ...report })];
    },
  };
}

/** Returns the result of a turn with the reply to the only agent. */
function single<Result extends object>(result: Result) {
  if (!("replies" in result)) return result;
  const { replies, ...others } = result;
  return { ...others, reply: (replies as { readonly agent: string }).agent };
}
