import { type ErrorData, LyceumError, toErrorData } from "../../src/contract/errors/index.ts";

const stderrLines = 20;

/** How an agent program failed. */
export class ProgramError extends Error {
  /** The end of its error output. */
  readonly stderr: string | undefined;

  constructor(how: string, options: { readonly stderr?: string; readonly cause?: unknown } = {}) {
    super(how, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ProgramError";
    this.stderr = options.stderr;
  }
}

/** Converts what a function threw to a {@link ProgramError}. */
export function asProgramError(error: unknown): ProgramError {
  if (error instanceof ProgramError) return error;
  const { name, message } = toErrorData(error);
  return new ProgramError(`threw ${error instanceof Error ? `${name}: ${message}` : message}`, { cause: error });
}

/** True if a program failed twice in the same way. Error output may contain times and process ids, so it is ignored. */
export function isSameProgramError(first: ProgramError, second: ProgramError): boolean {
  return first.message === second.message;
}

/** The error of a failure that the answers of the model did not cause. The episode is unscored. */
export function programFailed(name: string, error: ProgramError, hint: string): LyceumError {
  return new LyceumError({ ...failureData(name, error), hint, cause: error });
}

/** The failure that the answers of the model caused. The episode has the lowest reward. */
export function causedFailure(name: string, error: ProgramError, failureCause: "policy" | "policy?"): ErrorData {
  const { data, ...failure } = failureData(name, error);
  return {
    name: "LyceumError",
    ...failure,
    hint: "The answers of the model make the program fail each time. Catch the error in the program, and let it answer.",
    data: { ...data, failureCause },
  };
}

function failureData(name: string, error: ProgramError) {
  const lines = error.stderr?.trimEnd().split(/\r?\n/).slice(-stderrLines) ?? [];
  const last = lines.at(-1)?.trim();
  return {
    code: "program.failed" as const,
    message: `The agent program "${name}" ${error.message}${last ? `: ${last}` : ""}.`.replace(/([.!?])\.$/, "$1"),
    data: { program: name, ...(lines.length === 0 ? {} : { stderr: lines.join("\n") }) },
  };
}
