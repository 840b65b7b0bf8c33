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
import { joinSource } from "../shared/code-turns/join-source.ts";
import { type CodeTurn, nextTurn, revisions } from "../shared/code-turns/next-turn.ts";
import { replyCode, testCode } from "../shared/code-turns/reply-code.ts";
import { turnInfo } from "../shared/code-turns/turn-info.ts";
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
      const own = { original: codePrompt(task), code, names: [entryPoint], ask: revisionAsk(entryPoint) };
      const written: CodeTurn<"agent"> = { options, language, agents: [{ agent: "agent", ...own }] };
      if (mode === "plain" && !isLast && !rewardEveryTurn) return single(revisions(written));
      const { source, linesBefore } = joinSource(language, [promptHelpers(task), code]);
      const seed = random.integer(0, 2 ** 31);
      const grade = await gradeCode({ sandbox, code: source, suite, seed, signal });
      if (grade.infra) return { reward: unscored(grade.error.message, grade.error) };
      const components = rewardComponents(options.reward, { levels: codeLevels(grade) });
      const info = turnInfo({ turn, grade, sandbox: sandbox.info.backend, components });
      const correct = grade.passed;
      if (isLast || (correct && !rewardEveryTurn)) return { components, correct, info };
      const graded = { correct, info, ...(rewardEveryTurn ? { components } : {}) };
      const feedback = async () => {
        const visible = await visibleRun({ sandbox, code: source, suite, name: entryPoint, seed, grade, signal });
        const report = singleReport(visible, { name: entryPoint, linesBefore: linesBefore[1]! });
        return [codeFeedback(options, { passed: grade.passed, visible, ...report })];
      };
      const tests = visibleTests(suite).map((test) => test.text);
      const request = { problem: task.prompt, tests, seed, signal };
      return single(await nextTurn(written, { expert, request, graded, info, feedback }));
    },
    demonstrate: ({ solution }) =>
      solution === undefined
        ? undefined
        : Array.from({ length: rewardEveryTurn ? maxTurns : 1 }, () => fenced(language, solution)),
  });
}

/** Returns the result of a turn with the reply to the only agent. */
function single<Result extends { readonly replies: { readonly agent: string } }>({ replies, ...result }: Result) {
  return { ...result, reply: replies.agent };
}
