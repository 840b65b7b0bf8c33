import { gradeCode } from "../../sandbox/grading/grade-code.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { unscored } from "../../src/contract/reward.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import type { SharedResource } from "../../src/core/environment/shared-resource.ts";
import type { CodeProblem } from "../shared/code-benchmarks/code-problem.ts";
import { fenced } from "../shared/code-turns/code-block.ts";
import { codeFeedback, singleReport } from "../shared/code-turns/code-feedback.ts";
import { codeLevels } from "../shared/code-turns/code-levels.ts";
import { expertEdits, expertMetrics } from "../shared/code-turns/expert-edits.ts";
import { joinSource } from "../shared/code-turns/join-source.ts";
import { replyCode, testCode } from "../shared/code-turns/reply-code.ts";
import { revisionContext, revisionPrompt } from "../shared/code-turns/revision-prompt.ts";
import { turnInfo, withMetrics } from "../shared/code-turns/turn-info.ts";
import { visibleRun } from "../shared/code-turns/visible-run.ts";
import { visibleTests } from "../shared/code-turns/visible-tests.ts";
import { type CodeEnvironmentParts, codeDefinition } from "./code-definition.ts";
import { codePrompt, promptHelpers, revisionAsk } from "./code-prompt.ts";
import { rewardComponents } from "./code-reward.ts";

/** Creates the code environment with one agent from validated options. */
export function singleEnvironment(parts: CodeEnvironmentParts): EnvironmentDefinition<CodeProblem> {
  const { options } = parts;
  const expert = parts.resources.policies?.expert;
  const { maxTurns, mode, rewardEveryTurn } = options;
  const { language, definition } = codeDefinition(parts);
  return defineEnvironment<CodeProblem, undefined, SharedResource<Sandbox>>({
    ...definition,
    reset: ({ task }) => codePrompt(task),
    step: async ({ task, text, turn, random, opened: { value: sandbox }, signal }) => {
      const { entryPoint, suite } = task;
      const isLast = turn + 1 >= maxTurns;
      const code = replyCode(text, { language, names: [entryPoint], usedBy: testCode(suite) });
      const revision = (feedback: string) => ({
        reply: revisionPrompt(options, {
          language,
          original: codePrompt(task),
          code,
          feedback,
          ask: revisionAsk(entryPoint),
        }),
        context: revisionContext(options),
      });
      if (mode === "plain" && !isLast && !rewardEveryTurn) return revision("");
      const { source, linesBefore } = joinSource(language, [promptHelpers(task), code]);
      const seed = random.integer(0, 2 ** 31);
      const grade = await gradeCode({ sandbox, code: source, suite, seed, signal });
      if (grade.infra) return { reward: unscored(grade.error.message, grade.error) };
      const components = rewardComponents(options.reward, { levels: codeLevels(grade) });
      const info = turnInfo({ turn, grade, sandbox: sandbox.info.backend, components });
      const correct = grade.passed;
      if (isLast || (correct && !rewardEveryTurn)) return { components, correct, info };
      const graded = { correct, info, ...(rewardEveryTurn ? { components } : {}) };
      if (mode === "plain") return { ...revision(""), ...graded };
      if (mode === "expert_edits") {
        const tests = visibleTests(suite).map((test) => test.text);
        const request = { language, problem: task.prompt, tests, code, names: [entryPoint], seed, signal };
        const edit = await expertEdits(expert!, request);
        return { ...revision(edit.text), ...graded, info: withMetrics(info, expertMetrics([edit])) };
      }
      const visible = await visibleRun({ sandbox, code: source, suite, name: entryPoint, seed, grade, signal });
      const own = singleReport(visible, { name: entryPoint, linesBefore: linesBefore[1]! });
      return { ...revision(codeFeedback(options, { passed: grade.passed, visible, ...own })), ...graded };
    },
    demonstrate: ({ solution }) =>
      solution === undefined
        ? undefined
        : Array.from({ length: rewardEveryTurn ? maxTurns : 1 }, () => fenced(language, solution)),
  });
}
