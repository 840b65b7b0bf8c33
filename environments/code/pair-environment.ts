import { type CodeGrade, gradeCode } from "../../sandbox/grading/grade-code.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { type ErrorData, LyceumError } from "../../src/contract/errors/index.ts";
import { defineParallelEnvironment } from "../../src/core/environment/define-parallel-environment.ts";
import type { SharedResource } from "../../src/core/environment/shared-resource.ts";
import type { CodeProblem } from "../shared/code-benchmarks/code-problem.ts";
import { codeFeedback } from "../shared/code-turns/code-feedback.ts";
import { codeLevels } from "../shared/code-turns/code-levels.ts";
import { joinSource } from "../shared/code-turns/join-source.ts";
import { type JudgedTurn, playTurn, type TurnRun } from "../shared/code-turns/play-turn.ts";
import { replyCode, testCode } from "../shared/code-turns/reply-code.ts";
import { turnInfo } from "../shared/code-turns/turn-info.ts";
import { visibleRun } from "../shared/code-turns/visible-run.ts";
import { visibleTests } from "../shared/code-turns/visible-tests.ts";
import { type CodeEnvironmentParts, codeDefinition } from "./code-definition.ts";
import type { CodeOptions } from "./code-options.ts";
import { auxPrompt, mainPrompt, promptHelpers, revisionAsk } from "./code-prompt.ts";
import { rewardComponents } from "./code-reward.ts";
import { pairDefinitions } from "./pair-definitions.ts";
import { auxName, type PairStructure, pairStructure } from "./structure/pair-structure.ts";

const agents = ["aux", "main"] as const;
type Agent = (typeof agents)[number];

/**
 * Creates the code environment with two agents from validated options. `aux` writes a helper and `main` writes the
 * requested function, simultaneously. Neither sees the other's code, and both get the same reward. An episode ends
 * early if an answer reaches the maximum reward.
 */
export function pairEnvironment(parts: CodeEnvironmentParts): EnvironmentDefinition<CodeProblem> {
  const { options } = parts;
  const expert = parts.resources.policies?.expert;
  const { maxTurns, rewardEveryTurn } = options;
  const { language, definition } = codeDefinition(parts);
  return defineParallelEnvironment<Agent, CodeProblem, undefined, SharedResource<Sandbox>>({
    ...definition,
    agents,
    reset: ({ task }) => {
      if (task.entryPoint === auxName) throw sameName(task);
      return { aux: auxPrompt(task), main: mainPrompt(task) };
    },
    step: async ({ task, texts, turn, random, opened: { value: sandbox }, signal }) => {
      const { entryPoint, suite } = task;
      const code = {
        aux: replyCode(texts.aux, { language, names: [auxName] }),
        main: replyCode(texts.main, { language, names: [entryPoint], usedBy: testCode(suite) }),
      };
      const prompts = { aux: auxPrompt(task), main: mainPrompt(task) };
      const names = { aux: auxName, main: entryPoint };
      const written = agents.map((agent) => {
        const name = names[agent];
        return { agent, original: prompts[agent], code: code[agent], names: [name], ask: revisionAsk(name) };
      });
      const seed = random.integer(0, 2 ** 31);
      const tests = visibleTests(suite).map((test) => test.text);
      return playTurn(
        { options, language, agents: written },
        {
          isLast: turn + 1 >= maxTurns,
          rewardEveryTurn,
          expert,
          request: { problem: task.prompt, tests, seed, signal },
          judge: () => judgePair(options, { sandbox, task, code, turn, seed, signal }),
        },
      );
    },
  });
}

/** Grades the code of both agents together, and finds how main uses aux. */
async function judgePair(
  options: CodeOptions,
  given: TurnRun & { readonly task: CodeProblem; readonly code: Readonly<Record<Agent, string>> },
): Promise<JudgedTurn<object> | { readonly error: ErrorData }> {
  const { sandbox, task, code, turn, seed, signal } = given;
  const { entryPoint, suite } = task;
  const { language } = suite;
  const helpers = promptHelpers(task);
  const { source } = joinSource(language, [helpers, code.aux, code.main]);
  const run = { sandbox, suite, seed, signal };
  const [grade, pair] = await Promise.all([
    gradeCode({ ...run, code: source }),
    pairStructure({ sandbox, language, ...code, entryPoint, signal }),
  ]);
  if (grade.infra) return grade;
  if ("error" in pair) return pair;
  const { called, used, wrapper } = pair;
  const components = rewardComponents(options.reward, { levels: codeLevels(grade), pair });
  const info = turnInfo({ turn, grade, sandbox: sandbox.info.backend, components });
  return {
    earned: { components },
    correct: grade.passed,
    isTop: grade.passed && used && !wrapper,
    info: { ...info, auxCalled: called, auxUsed: used, wrapper },
    feedback: () => pairFeedback(options, { ...run, language, source, helpers, code, entryPoint, grade, pair }),
  };
}

/** Returns the feedback for aux and for main: each on its own code, and on the visible tests. */
async function pairFeedback(
  options: CodeOptions,
  turn: Omit<Parameters<typeof pairDefinitions>[0], "loadError" | "limits"> & {
    readonly source: string;
    readonly suite: CodeProblem["suite"];
    readonly grade: CodeGrade;
  },
): Promise<readonly string[]> {
  const { sandbox, suite, seed, signal, source, entryPoint, grade, pair } = turn;
  const visible = await visibleRun({ sandbox, code: source, suite, name: entryPoint, seed, grade, signal });
  const { aux, main } = await pairDefinitions({ ...turn, loadError: visible?.loadError, limits: suite.limits });
  const report = { passed: grade.passed, visible };
  // Without main's function, there is no use of aux to report.
  const checks = pair.main.defined ? [auxCheck(pair, entryPoint)] : [];
  return [
    codeFeedback(options, { ...report, ...aux, syntaxProblem: pair.aux.problem ?? null }),
    codeFeedback(options, { ...report, ...main, syntaxProblem: pair.main.problem ?? null, checks }),
  ];
}

/** Returns main's feedback on its use of aux. */
function auxCheck({ called, used, wrapper, ignored }: PairStructure, entryPoint: string) {
  const detail = !called
    ? `\`${entryPoint}\` does not call \`aux\`.`
    : !used
      ? `\`${entryPoint}\` calls \`aux\`, but ignores what it returns: the result ${ignored}.`
      : wrapper
        ? `\`${entryPoint}\` only wraps \`aux\`: it returns the result of \`aux\` and does nothing else.`
        : `\`${entryPoint}\` calls \`aux\` and uses what it returns.`;
  return { name: "Use of aux", ok: used && !wrapper, detail };
}

function sameName({ id }: CodeProblem): LyceumError {
  return new LyceumError({
    code: "data.malformed",
    message: `The problem "${id}" requests a function named aux, which is the name of the helper.`,
    hint: "Use one agent (agents: 1), or leave the problem out.",
  });
}
