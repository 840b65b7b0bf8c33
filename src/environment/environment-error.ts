import { LyceumError, toErrorData } from "../errors/index.ts";

/** The error for an environment that broke the contract of {@link Environment}. `rule` is what the contract asks. */
export function contractError(options: {
  readonly environment: string;
  readonly problem: string;
  readonly rule: string;
}): LyceumError {
  return new LyceumError({
    code: "environment.contract",
    message: `Environment "${options.environment}" ${options.problem}.`,
    hint: options.rule,
    data: { environment: options.environment },
  });
}

/** Whatever an environment threw in `call` as a typed error. Lyceum errors pass through: they say more. */
export function environmentFailure(options: {
  readonly environment: string;
  readonly call: string;
  readonly error: unknown;
}): LyceumError {
  const { environment, call, error } = options;
  if (LyceumError.isInstance(error)) return error;
  const { name, message } = toErrorData(error);
  const what = error instanceof Error ? `${name}: ${message}` : message;
  return new LyceumError({
    code: "environment.failed",
    message: `Environment "${environment}" threw in ${call}: ${what}`,
    hint: "This is an error in the environment's own code or in what it calls; the cause has the stack.",
    data: { environment, call },
    cause: error,
  });
}
