import { LyceumError, toErrorData } from "../errors/index.ts";
import type { DefinitionCase, Law } from "./law.ts";
import { CallTimeout } from "./play-episode.ts";

/** A law that was found broken. */
export interface Finding {
  readonly law: string;
  readonly message: string;
  readonly hint: string;
}

/** The law that is broken by an error in a plain episode. */
export const takesAnyAnswer = {
  name: "takes-any-answer",
  hint: "Let no answer throw: score what cannot be read as wrong, and give unscored(reason) where judging failed.",
};

/** The law that is broken by a call that does not end. */
export const answersInTime = {
  name: "answers-in-time",
  hint: "Give whatever is waited for a limit of its own. The check ended here; callMs lets it wait longer.",
};

/** What is found by trying a law. An error breaks the law that was tried; a call that does not end has its own. */
export async function tryLaw<Case extends DefinitionCase>(law: Law<Case>, given: Case): Promise<Finding | undefined> {
  given.signal?.throwIfAborted();
  try {
    const problem = await law.check(given);
    return problem === undefined ? undefined : finding(law, given, problem);
  } catch (error) {
    return failure(law, given, error);
  }
}

/** What an error says of the law that was tried when it came up. Throws the reason of an abort. */
export function failure(law: Omit<Law<never>, "check">, given: DefinitionCase, error: unknown): Finding {
  given.signal?.throwIfAborted();
  if (error instanceof CallTimeout) return finding(answersInTime, given, error.message);
  const { message } = toErrorData(error);
  if (!LyceumError.isInstance(error)) return finding(law, given, `threw: ${message}${place(error)}`);
  return { law: law.name, message: `${message}${place(error.cause)}`, hint: law.hint };
}

function finding(law: { name: string; hint: string }, given: DefinitionCase, problem: string): Finding {
  return { law: law.name, message: `Environment "${given.environment.spec.id}" ${problem}.`, hint: law.hint };
}

/** Where an error was thrown. */
function place(error: unknown): string {
  const frame = error instanceof Error ? /^ +at .*$/m.exec(error.stack ?? "")?.[0] : undefined;
  return frame === undefined ? "" : ` (${frame.trim()})`;
}
