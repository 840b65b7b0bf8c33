import { LyceumError, toErrorData } from "../errors/index.ts";
import { CallTimeout } from "./play-episode.ts";
import type { DefinitionCase, Rule } from "./rule.ts";

/** A rule that was found broken. */
export interface Finding {
  readonly rule: string;
  readonly message: string;
  readonly hint: string;
}

/** The rule that is broken by an error in a plain episode. */
export const takesAnyAnswer = {
  name: "takes-any-answer",
  hint: "Let no answer throw: score what cannot be read as wrong, and give unscored(reason) where judging failed.",
};

/** The rule that is broken by a call that does not end. */
export const answersInTime = {
  name: "answers-in-time",
  hint: "Give whatever is waited for a limit of its own. The check ended here; callMs lets it wait longer.",
};

/** What is found by trying a rule. An error breaks the rule that was tried; a call that does not end has its own. */
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
  const { message } = toErrorData(error);
  if (!LyceumError.isInstance(error)) return finding(rule, given, `threw: ${message}${place(error)}`);
  return { rule: rule.name, message: `${message}${place(error.cause)}`, hint: rule.hint };
}

function finding(rule: { name: string; hint: string }, given: DefinitionCase, problem: string): Finding {
  return { rule: rule.name, message: `Environment "${given.environment.spec.id}" ${problem}.`, hint: rule.hint };
}

/** Where an error was thrown. */
function place(error: unknown): string {
  const frame = error instanceof Error ? /^ +at .*$/m.exec(error.stack ?? "")?.[0] : undefined;
  return frame === undefined ? "" : ` (${frame.trim()})`;
}
