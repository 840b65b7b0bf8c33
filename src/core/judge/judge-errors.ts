import { describeValue } from "../../contract/describe-value.ts";
import { LyceumError } from "../../contract/errors/index.ts";

/** The error of an environment whose judge model is not named. */
export function missingJudge(environment: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `Environment "${environment}" needs a judge model, and none is named.`,
    hint:
      "Name one with --judge, such as --judge openai:gpt-5-mini. Commands without that option take it as an option of the " +
      "environment: -s judge=openai:gpt-5-mini, or judge in the environment's part of a config. In a program, use " +
      "withJudge(environment, { policy }).",
    data: { environment },
  });
}

/** The error of a judge that is asked without a model. */
export function unlistedJudge(name: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `The judge "${name}" has no model here.`,
    hint: "List it in the environment (judges: [...]) and pass the context of step or reward to score, or create it with a policy as its model.",
    data: { judge: name },
  });
}

/** The error of a judge without a verdict. `problem` says what is wrong with its answer. */
export function noVerdict(problem: string, answer: string): LyceumError {
  return new LyceumError({
    code: "policy.failed",
    message: `The judge gave no verdict in two answers: ${problem}`,
    hint: "Use a judge model that follows the form of the verdict, or raise its maxTokens.",
    data: { answer: answer.slice(-200) },
  });
}

/** The error of a form of verdicts that does not exist. */
export function invalidVerdictForm(form: unknown): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `A judge cannot read its verdict as ${describeValue(form)}.`,
    hint: 'Use "yes-no", "grade", two numbers such as [1, 10], or a function of the answer.',
  });
}
