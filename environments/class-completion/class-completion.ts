import { gradeCode } from "../../sandbox/grading/grade-code.ts";
import type { TestSuite } from "../../sandbox/grading/test-suite.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { ErrorData } from "../../src/contract/errors/index.ts";
import { type Reward, scored } from "../../src/contract/reward.ts";
import { defineParallelEnvironment } from "../../src/core/environment/define-parallel-environment.ts";
import type { EnvironmentResources } from "../../src/core/environment/environment-resources.ts";
import { defineEnvironmentEntry, parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import type { SharedResource } from "../../src/core/environment/shared-resource.ts";
import { benchmarkTasks } from "../shared/code-benchmarks/published-benchmark.ts";
import { fenced } from "../shared/code-turns/code-block.ts";
import { namedExpert, requiredExpert } from "../shared/code-turns/expert-edits.ts";
import { sandboxOpener } from "../shared/code-turns/open-sandbox.ts";
import { type JudgedTurn, playTurn, type TurnRun } from "../shared/code-turns/play-turn.ts";
import { processorTime } from "../shared/code-turns/processor-time.ts";
import { replyCode } from "../shared/code-turns/reply-code.ts";
import { episodeRange } from "../shared/code-turns/reward-every-turn.ts";
import { turnInfo } from "../shared/code-turns/turn-info.ts";
import { visibleRun } from "../shared/code-turns/visible-run.ts";
import { showAll } from "../shared/code-turns/visible-tests.ts";
import { anySplitOfOneFile } from "../shared/rows/row-file.ts";
import { type ClassCompletionOptions, classCompletionOptionsSchema } from "./class-completion-options.ts";
import { classFeedback, unreadableFeedback } from "./class-feedback.ts";
import { classPrompt, classRevisionAsk } from "./class-prompt.ts";
import { classReward, classRewardRanges } from "./class-reward.ts";
import { type ClassTask, classTask } from "./class-task.ts";
import { loadEachAgent } from "./load-each-agent.ts";
import { mergeClass } from "./merge-class.ts";
import { splitMethods } from "./method-split.ts";

const description = "ClassEval: the methods of a class, written by one agent or split between several.";

/**
 * Creates the class-completion environment. Agents act simultaneously. Each writes its own methods of a class and does
 * not see the others' methods. The replies are merged on the syntax tree, and all agents get the reward of the class.
 * One agent is called `agent`, several are called `agent-1`, `agent-2` and so on. An agent without methods in a class
 * does not act. Throws `config.invalid` for invalid options.
 */
export function classCompletionEnvironment(
  options: Partial<ClassCompletionOptions> = {},
  resources: EnvironmentResources<"expert"> = {},
): EnvironmentDefinition<ClassTask> {
  const parsed = parseEnvironmentOptions("class-completion", classCompletionOptionsSchema, options);
  const expert = requiredExpert("class-completion", parsed, resources.policies?.expert);
  const { maxTurns, rewardEveryTurn, reward: preset, shareTests, split } = parsed;
  const agents = agentNames(parsed.agents);
  const limits = processorTime(parsed.cpuSeconds);
  const sharesOf = ({ methods, problem }: ClassTask): Shares => {
    const names = splitMethods({ methods, agents: agents.length, split, id: problem.id });
    const acting = agents.map((agent, i) => ({ agent, own: names[i]! })).filter(({ own }) => own.length > 0);
    const owners = Object.fromEntries(acting.flatMap(({ own }, place) => own.map((name) => [name, place])));
    return { acting, owners };
  };
  const environment = defineParallelEnvironment<string, ClassTask, undefined, SharedResource<Sandbox>>({
    id: "class-completion",
    description,
    agents,
    ...benchmarkTasks({
      name: "class-eval",
      path: parsed.path,
      hub: resources.hub ?? {},
      read: (row) => {
        const task = classTask(row);
        const { suite } = task.problem;
        const shown: TestSuite = { ...(shareTests ? showAll(suite) : suite), limits };
        return { ...task, problem: { ...task.problem, suite: shown } };
      },
    }),
    maxTurns,
    rewardRange: episodeRange(classRewardRanges[preset], parsed),
    // The run time of code depends on the machine.
    deterministic: false,
    statesCorrect: true,
    open: sandboxOpener({ language: "python", sandbox: parsed.sandbox }),
    fork: (state) => state,
    reset: ({ task }) => {
      const { acting } = sharesOf(task);
      return Object.fromEntries(
        acting.map(({ agent, own }) => [agent, classPrompt({ task, own, agents: agents.length })]),
      );
    },
    step: async ({ task, texts, turn, random, opened: { value: sandbox }, signal }) => {
      const shares = sharesOf(task);
      const { acting } = shares;
      const written = acting.map(({ agent, own }) => ({
        agent,
        original: classPrompt({ task, own, agents: agents.length }),
        code: replyCode(texts[agent]!, { language: "python", names: own, methods: true }),
        names: own,
        ask: classRevisionAsk(own),
      }));
      const replies = written.map(({ code }) => code);
      const seed = random.integer(0, 2 ** 31);
      const joint = (reward: Reward) => ({ rewards: Object.fromEntries(acting.map(({ agent }) => [agent, reward])) });
      return playTurn(
        { options: parsed, language: "python", agents: written },
        {
          isLast: turn + 1 >= maxTurns,
          rewardEveryTurn,
          expert,
          request: { problem: task.skeleton, tests: visibleTestTexts(task), seed, signal },
          judge: async () => {
            const judged = await judgeClass(parsed, { sandbox, task, shares, replies, turn, seed, signal });
            return "error" in judged ? judged : { ...judged, earned: joint(total(judged.earned)) };
          },
          unscored: joint,
        },
      );
    },
    demonstrate: (task) => {
      const { acting, owners } = sharesOf(task);
      const turn = Object.fromEntries(acting.map(({ agent }, place) => [agent, demonstration(task, owners, place)]));
      return Array.from({ length: rewardEveryTurn ? maxTurns : 1 }, () => turn);
    },
  });
  return anySplitOfOneFile(environment, parsed.path);
}

/** The registry entry of the class-completion environment. */
export const classCompletionEntry = defineEnvironmentEntry({
  id: "class-completion",
  description,
  options: classCompletionOptionsSchema,
  policies: (options) => namedExpert(options),
  create: (options, resources) => classCompletionEnvironment(options, resources),
});

/** The agents with methods in a class, their methods, and the owner of each method. */
interface Shares {
  readonly acting: readonly { readonly agent: string; readonly own: readonly string[] }[];
  readonly owners: Readonly<Record<string, number>>;
}

/** Merges the agents' methods and grades the class. */
async function judgeClass(
  options: ClassCompletionOptions,
  given: TurnRun & { readonly task: ClassTask; readonly shares: Shares; readonly replies: readonly string[] },
): Promise<JudgedTurn<Readonly<Record<string, number>>> | { readonly error: ErrorData }> {
  const { sandbox, task, replies, turn, seed, signal } = given;
  const { acting, owners } = given.shares;
  const { entryPoint: name, suite } = task.problem;
  const { reward: preset } = options;
  const parts = { sandbox, skeleton: task.skeleton, className: name, owners, replies, signal };
  const merged = await mergeClass(parts);
  if (merged === undefined) {
    const earned = classReward({ preset, task, owners, merged, grade: undefined });
    return { earned, correct: false, info: { turn, metrics: {} }, feedback: () => unreadableFeedback(parts) };
  }
  const grading = { sandbox, code: merged.source, suite, seed, signal };
  const grade = await gradeCode(grading);
  if (grade.infra) return grade;
  const { passed } = grade;
  const components = classReward({ preset, task, owners, merged, grade });
  return {
    earned: components,
    correct: passed,
    info: turnInfo({ turn, grade, sandbox: sandbox.info.backend, components }),
    feedback: async () => {
      const visible = await visibleRun({ ...grading, name, grade });
      const loads = await loadEachAgent({ ...parts, loadError: visible?.loadError, limits: suite.limits, seed });
      return acting.map(({ own }, place) =>
        classFeedback(options, { task, place, own, merged, passed, visible, loads }),
      );
    },
  };
}

function agentNames(count: number): readonly string[] {
  return count === 1 ? ["agent"] : Array.from({ length: count }, (_, i) => `agent-${i + 1}`);
}

function total(components: Readonly<Record<string, number>>): Reward {
  let sum = 0;
  for (const value of Object.values(components)) sum += value;
  return scored(sum, components);
}

/** Returns the source code of the visible test methods. */
function visibleTestTexts({ problem, tests }: ClassTask): string[] {
  return problem.suite.tests.flatMap(({ visible }, i) => (visible === true ? [tests[i]!.text] : []));
}

/** Returns one agent's methods from the benchmark's solution. The first agent also writes what the skeleton lacks. */
function demonstration({ solution }: ClassTask, owners: Readonly<Record<string, number>>, place: number): string {
  const methods = solution.filter(({ name }) => (name in owners ? owners[name] === place : place === 0));
  return fenced("python", methods.map(({ text }) => text).join("\n\n"));
}
