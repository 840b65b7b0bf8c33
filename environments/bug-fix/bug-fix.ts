import { gradeCode } from "../../sandbox/grading/grade-code.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { ErrorData } from "../../src/contract/errors/index.ts";
import { defineParallelEnvironment } from "../../src/core/environment/define-parallel-environment.ts";
import type { EnvironmentResources } from "../../src/core/environment/environment-resources.ts";
import { defineEnvironmentEntry, parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import type { SharedResource } from "../../src/core/environment/shared-resource.ts";
import { benchmarkTasks } from "../shared/code-benchmarks/published-benchmark.ts";
import { fenced } from "../shared/code-turns/code-block.ts";
import { codeFeedback, singleReport } from "../shared/code-turns/code-feedback.ts";
import { namedExpert, requiredExpert } from "../shared/code-turns/expert-edits.ts";
import { sandboxOpener } from "../shared/code-turns/open-sandbox.ts";
import { type JudgedTurn, playTurn, type TurnRun } from "../shared/code-turns/play-turn.ts";
import { processorTime } from "../shared/code-turns/processor-time.ts";
import { replyCode, testCode } from "../shared/code-turns/reply-code.ts";
import { turnInfo } from "../shared/code-turns/turn-info.ts";
import { visibleRun } from "../shared/code-turns/visible-run.ts";
import { visibleTests } from "../shared/code-turns/visible-tests.ts";
import { anySplitOfOneFile } from "../shared/rows/row-file.ts";
import { type BugFixOptions, bugFixOptionsSchema } from "./bug-fix-options.ts";
import { finderPrompt, fixerAsk, fixerPrompt, namedLine } from "./bug-fix-prompt.ts";
import { bugFixReward } from "./bug-fix-reward.ts";
import { type BugFixTask, humanEvalTask, mbppTask } from "./bug-fix-task.ts";
import { type PlantedBug, plantBug } from "./plant-bug.ts";
import { changedLines, programChange } from "./program-change.ts";

const description = "Programs with a bug, to be repaired: seeded mistakes in HumanEval and MBPP, or real ones.";

interface State {
  readonly bug: PlantedBug;
  /** The fixer's first prompt. */
  readonly original: string;
  /** True if the finder named a faulty line. Undefined without a finder and before its turn. */
  readonly found?: boolean;
}

/**
 * Creates the bug-fix environment. The bug is created at the start of an episode from its seed, so all episodes of a
 * group have the same bug. One agent, `agent`, repairs the program. With the option `finder`, a `finder` first
 * describes the bug, a `fixer` repairs it, and both get the same reward. Throws `config.invalid` for invalid options.
 */
export function bugFixEnvironment(
  options: Partial<BugFixOptions> = {},
  resources: EnvironmentResources<"expert"> = {},
): EnvironmentDefinition<BugFixTask> {
  const parsed = parseEnvironmentOptions("bug-fix", bugFixOptionsSchema, options);
  const expert = requiredExpert("bug-fix", parsed, resources.policies?.expert);
  const { dataset, finder, maxTurns, mutations, shareTests } = parsed;
  const limits = processorTime(parsed.cpuSeconds);
  const fixer = finder ? "fixer" : "agent";
  const firstTurns = finder ? 1 : 0;
  const environment = defineParallelEnvironment<string, BugFixTask, State, SharedResource<Sandbox>>({
    id: "bug-fix",
    description,
    agents: finder ? ["finder", "fixer"] : ["agent"],
    ...benchmarkTasks({
      name: dataset,
      path: parsed.path,
      hub: resources.hub ?? {},
      read: (row) => {
        const task = (dataset === "mbpp" ? mbppTask : humanEvalTask)(row);
        return { ...task, problem: { ...task.problem, suite: { ...task.problem.suite, limits } } };
      },
    }),
    maxTurns: maxTurns + firstTurns,
    rewardRange: [0, 1],
    // The run time of code depends on the machine.
    deterministic: false,
    statesCorrect: true,
    open: sandboxOpener({ language: "python", sandbox: parsed.sandbox }),
    fork: (state) => state,
    reset: async ({ task, random, opened: { value: sandbox }, signal }) => {
      const bug = await plantBug({ task, sandbox, mutations, shareTests, random, signal });
      const original = fixerPrompt({ task, bug });
      return {
        prompts: finder ? { finder: finderPrompt({ task, bug }) } : { agent: original },
        state: { bug, original },
      };
    },
    step: async ({ task, state, texts, turn, random, opened: { value: sandbox }, signal }) => {
      const { bug } = state;
      if (finder && turn === 0) {
        const finding = texts.finder!;
        const line = namedLine(finding);
        const found = line !== undefined && changedLines(bug.program, task.solution).includes(line);
        const original = fixerPrompt({ task, bug, finding });
        return { replies: { fixer: original }, state: { bug, original, found } };
      }
      const { problem } = task;
      const names = [problem.entryPoint];
      const code = replyCode(texts[fixer]!, { language: "python", names, usedBy: testCode(bug.suite) });
      const seed = random.integer(0, 2 ** 31);
      const tests = visibleTests(bug.suite).map(({ text }) => text);
      return playTurn(
        {
          options: parsed,
          language: "python",
          agents: [{ agent: fixer, original: state.original, code, names, ask: fixerAsk }],
        },
        {
          isLast: turn + 1 >= maxTurns + firstTurns,
          expert,
          request: { problem: problem.prompt, tests, seed, signal },
          judge: () => judgeFix(parsed, { sandbox, task, state, code, turn, seed, signal }),
        },
      );
    },
    // A finder's answer depends on the bug, which the task does not contain.
    ...(finder ? {} : { demonstrate: ({ solution }) => [{ agent: fenced("python", solution) }] }),
  });
  return anySplitOfOneFile(environment, parsed.path);
}

/** The registry entry of the bug-fix environment. */
export const bugFixEntry = defineEnvironmentEntry({
  id: "bug-fix",
  description,
  options: bugFixOptionsSchema,
  policies: (options) => namedExpert(options),
  create: (options, resources) => bugFixEnvironment(options, resources),
});

/** Grades a repaired program. */
async function judgeFix(
  options: BugFixOptions,
  given: TurnRun & { readonly task: BugFixTask; readonly state: State; readonly code: string },
): Promise<JudgedTurn<object> | { readonly error: ErrorData }> {
  const { task, state, code, turn, ...run } = given;
  const { bug, found } = state;
  const { program, linesBefore } = withPreamble(code, task);
  const grading = { ...run, code: program, suite: bug.suite };
  const grade = await gradeCode(grading);
  if (grade.infra) return grade;
  const components = bugFixReward({
    before: bug.grade,
    after: grade,
    change: programChange(bug.program, program),
    realChange: programChange(bug.program, task.solution),
    found,
  });
  return {
    earned: { components },
    correct: grade.passed,
    info: { ...turnInfo({ turn, grade, sandbox: run.sandbox.info.backend }), bug: [...bug.kinds] },
    feedback: async () => {
      const name = task.problem.entryPoint;
      const visible = await visibleRun({ ...grading, name, grade });
      return [codeFeedback(options, { passed: false, visible, ...singleReport(visible, { name, linesBefore }) })];
    },
  };
}

/** Returns the program of a reply. Adds the preamble, which contains no bug, if the reply leaves it out. */
function withPreamble(
  code: string,
  { preamble }: BugFixTask,
): { readonly program: string; readonly linesBefore: number } {
  const text = code.replace(/\r\n?/g, "\n");
  if (preamble.trim() === "" || text.includes(preamble.trim())) return { program: text, linesBefore: 0 };
  return { program: preamble + text, linesBefore: preamble.split("\n").length - 1 };
}
