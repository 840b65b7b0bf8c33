import { LyceumError } from "../src/contract/errors/index.ts";
import { withJudge } from "../src/core/judge/with-judge.ts";
import type { ScriptedAnswer } from "../src/core/policy/scripted-policy.ts";
import { visibleText } from "../src/core/text/visible-text.ts";
import { checkEnvironment, type EnvironmentProblem, type EnvironmentReport } from "../src/testing/check-environment.ts";
import type { CheckArguments } from "./check-program.ts";
import type { CommandContext } from "./command-context.ts";
import { namedEnvironment } from "./named-environment.ts";
import { createPolicyOpener } from "./policy-opener.ts";

/**
 * Runs `lyceum check`: checks the rules of environments. Prints each failed rule with its problem, its fix and an
 * example. With `all`, also prints the rules that pass. Throws `environment.contract` if a rule fails, and passes on
 * errors of opening the environment.
 */
export async function checkCommand(args: CheckArguments, options: Omit<CommandContext, "environment">): Promise<void> {
  const { catalog, output, signal } = options;
  const { tasks, episodes, seed, skip, callSeconds } = args;
  await using opener = createPolicyOpener({ catalog, signal });
  const { environments } = catalog;
  const { environment: id, set, judge, judgeRequests } = args;
  const opened = await namedEnvironment({ id, set, judge, environments, open: opener.open });
  const environment = opened.judge === undefined ? opened : withJudge(opened, { maxRequests: judgeRequests });
  if (environment.judge !== undefined) {
    const name = environment.judge.opened ?? "the judge of the environment";
    const text = `${name} judges, with at most ${judgeRequests} requests (--judge-requests). Answers after them are unscored.`;
    output.write(visibleText(`${text}\n`));
  }
  const split = args.split ?? environment.splits[0];
  const report = await checkEnvironment(environment, {
    split,
    tasks,
    episodes,
    seed,
    skip,
    callMs: callSeconds * 1000,
    signal,
  });
  output.write(visibleText(reportText(report, { environment: environment.spec.id, all: args.all })));
  const { rules, problems } = report;
  if (problems.length === 0) return;
  throw new LyceumError({
    code: "environment.contract",
    message: `Environment "${environment.spec.id}" fails ${problems.length} of the ${rules.length} rules that were tried.`,
    hint: "The list above says how to fix each rule. docs/environments.md describes all rules.",
  });
}

/** Returns a line for each rule. Failed rules come last, with their fixes. */
function reportText(
  { rules, problems }: EnvironmentReport,
  { environment, all }: { readonly environment: string; readonly all: boolean },
): string {
  const failed = new Set(problems.map(({ rule }) => rule));
  const passed = rules.filter((rule) => !failed.has(rule));
  const lines = [
    `${environment}: ${passed.length} of ${rules.length} rules pass.`,
    ...(all ? passed.map((rule) => `  ok      ${rule}`) : []),
    ...problems.flatMap((problem) => [
      `  FAILED  ${problem.rule}: ${problem.message}`,
      `          fix: ${problem.hint}`,
      ...placeLines(problem),
    ]),
  ];
  return `${lines.join("\n")}\n`;
}

/** Returns the lines that help to reproduce the problem. */
function placeLines({ split, task, seed, actions }: EnvironmentProblem): string[] {
  if (task === undefined) return [];
  const parts = [
    `task "${task}" of ${split}`,
    ...(seed === undefined ? [] : [`seed ${seed}`]),
    ...(actions === undefined ? [] : [`answers ${actions.map(answerText).join(", ")}`]),
  ];
  return [`          seen with: ${parts.join(", ")}`];
}

function answerText(answer: ScriptedAnswer): string {
  const text = JSON.stringify(answer);
  return text.length > 120 ? `${text.slice(0, 120)}...` : text;
}
