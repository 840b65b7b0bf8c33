import { LyceumError, toErrorData } from "../contract/errors/index.ts";
import { thrownAt } from "../contract/errors/source-location.ts";
import { CallTimeout } from "./play-episode.ts";
import type { DefinitionCase, Rule } from "./rule.ts";

/** A rule that failed. */
export interface Finding {
  readonly rule: string;
  readonly message: string;
  readonly hint: string;
}

/** The rule that fails by what `reset` or `step` returned. The error says how to fix it. */
export const keepsTheContract = {
  name: "keeps-the-contract",
  hint: "Return from reset and step what the guide to environments says.",
};

/** The rule that fails by an error before any answer. */
export const resetsWithoutError = {
  name: "resets-without-error",
  hint: "Make open and reset work for each task of the split: here no answer was given yet.",
};

/** The rule that fails by an error in a plain episode. */
export const takesAnyAnswer = {
  name: "takes-any-answer",
  hint: "Do not throw on any answer: score an answer that cannot be read as wrong, and return unscored(reason) if judging failed.",
};

/** The rule that fails by a call that does not end. */
export const answersInTime = {
  name: "answers-in-time",
  hint: "Give each wait a limit of its own. The check ended here; callMs lets it wait longer.",
};

/** The rule that fails if no episode earned anything. What is demonstrated has rules of its own. */
export const someEpisodeEarns = {
  name: "some-episode-earns",
  hint: "Give a reward in the last turn (turn === maxTurns - 1), be it 0, and end the episode where it is solved.",
};

/** What is found by trying a rule. The rule that was tried fails by an error; a call that does not end has its own. */
export async function tryRule<Case extends DefinitionCase>(
  rule: Rule<Case>,
  given: Case,
): Promise<Finding | undefined> {
  given.signal?.throwIfAborted();
  try {
    const problem = await rule.check(given);
    return problem === undefined ? undefined : finding(rule, given, problem);
  } catch (error) {
    return failure(rule, given, error);
  }
}

/** What an error says of the rule that was tried when it came up. Throws the reason of an abort. */
export function failure(rule: Omit<Rule<never>, "check">, given: DefinitionCase, error: unknown): Finding {
  given.signal?.throwIfAborted();
  if (error instanceof CallTimeout) return finding(answersInTime, given, error.message);
  if (!LyceumError.isInstance(error)) {
    const location = thrownAt(error);
    const at = location === undefined ? "" : ` (${location})`;
    return finding(rule, given, `threw: ${toErrorData(error).message}${at}`);
  }
  const { message } = error;
  if (error.code === "environment.contract") {
    return { rule: keepsTheContract.name, message, hint: error.hint ?? keepsTheContract.hint };
  }
  const broken = isBeforeAnswers(error) ? resetsWithoutError : rule;
  return { rule: broken.name, message, hint: broken.hint };
}

/** True for an error of the environment's own code in a call that comes before any step. */
function isBeforeAnswers({ code, data }: LyceumError): boolean {
  if (code !== "environment.failed" || typeof data !== "object" || data === null || !("call" in data)) return false;
  return data.call === "create" || data.call === "reset";
}

function finding(rule: { name: string; hint: string }, given: DefinitionCase, problem: string): Finding {
  return { rule: rule.name, message: `Environment "${given.environment.spec.id}" ${problem}.`, hint: rule.hint };
}
