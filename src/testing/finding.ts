import { LyceumError, toErrorData } from "../contract/errors/index.ts";
import { thrownAt } from "../contract/errors/source-location.ts";
import { CallTimeout } from "./play-episode.ts";
import type { DefinitionCase, Rule } from "./rule.ts";

/** A broken rule and how it failed. */
export interface Finding {
  readonly rule: string;
  readonly message: string;
  readonly hint: string;
}

/** The rule that is broken by an invalid result of `reset` or `step`. The error says how to fix it. */
export const resultsAreValid = {
  name: "results-are-valid",
  hint: "Return valid results from reset and step (see the guide to environments).",
};

/** The rule that is broken by an error before the first answer. */
export const resetsWithoutError = {
  name: "resets-without-error",
  hint: "Make open and reset work for each task of the split: this error came before any answer.",
};

/** The rule that is broken by an error in an episode. */
export const acceptsAnyAnswer = {
  name: "accepts-any-answer",
  hint: "Do not throw on any answer: score an answer that cannot be read as wrong, and return unscored(reason) if judging failed.",
};

/** The rule that is broken by a call that does not end. */
export const answersInTime = {
  name: "answers-in-time",
  hint: "Give each wait its own timeout. The check stopped here. Use callMs to wait longer.",
};

/** The rule that is broken if no episode has a reward. Demonstrations have their own rules. */
export const someEpisodeHasReward = {
  name: "some-episode-has-a-reward",
  hint: "Give a reward in the last turn (turn === maxTurns - 1), even if it is 0, and end the episode if it is solved.",
};

/**
 * Checks a rule and returns its finding, if any. The rule fails if it throws. A call that does not end breaks its own
 * rule.
 */
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

/** Returns the finding for an error that came up while a rule was checked. Throws the reason of an abort. */
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
    return { rule: resultsAreValid.name, message, hint: error.hint ?? resultsAreValid.hint };
  }
  const broken = isBeforeAnswers(error) ? resetsWithoutError : rule;
  return { rule: broken.name, message, hint: broken.hint };
}

/** Returns true for an error of the environment's own code in a call before the first step. */
function isBeforeAnswers({ code, data }: LyceumError): boolean {
  if (code !== "environment.failed" || typeof data !== "object" || data === null || !("call" in data)) return false;
  return data.call === "create" || data.call === "reset";
}

function finding(rule: { name: string; hint: string }, given: DefinitionCase, problem: string): Finding {
  return { rule: rule.name, message: `Environment "${given.environment.spec.id}" ${problem}.`, hint: rule.hint };
}
