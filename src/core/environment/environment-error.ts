import { writtenAt } from "../../contract/errors/function-location.ts";
import { LyceumError, toErrorData } from "../../contract/errors/index.ts";
import { stackOf, thrownAt } from "../../contract/errors/source-location.ts";

/**
 * Creates the error for an environment that broke the contract of environments. `rule` is the requirement of the
 * contract. `by` is the author's function at fault: the message names its file and line.
 */
export function contractError(options: {
  readonly environment: string;
  readonly problem: string;
  readonly rule: string;
  readonly by?: object;
  /** True for NaN and infinity, which a model's answer can cause. The environment is then not blamed at once. */
  readonly isNotFinite?: boolean;
}): LyceumError {
  const { environment, problem, rule, by, isNotFinite = false } = options;
  const location = by === undefined ? undefined : writtenAt(by);
  return new LyceumError({
    code: "environment.contract",
    message: `Environment "${environment}" ${problem}${location === undefined ? "" : ` (${location})`}.`,
    hint: rule,
    data: { environment, ...(location === undefined ? {} : { location }), ...(isNotFinite ? { isNotFinite } : {}) },
  });
}

/**
 * Converts what an environment threw in `call` to a typed error with a file and line. They are those of the throw, or
 * those of the author's function `by` if the thrown value has no stack. Returns a Lyceum error unchanged.
 */
export function environmentFailure(options: {
  readonly environment: string;
  readonly call: string;
  readonly error: unknown;
  readonly by?: object;
}): LyceumError {
  const { environment, call, error, by } = options;
  if (LyceumError.isInstance(error)) return error;
  const { name, message } = toErrorData(error);
  const stack = stackOf(error);
  const what = stack === undefined ? message : `${name}: ${message}`;
  const location = thrownAt(error) ?? (by === undefined ? undefined : writtenAt(by));
  return new LyceumError({
    code: "environment.failed",
    message: `Environment "${environment}" threw in ${call}: ${what}${location === undefined ? "" : ` (${location})`}`,
    hint: "This is an error in the environment's own code or in what it calls. Use --debug to print the whole stack.",
    data: {
      environment,
      call,
      ...(location === undefined ? {} : { location }),
      ...(stack === undefined ? {} : { stack }),
    },
    cause: error,
  });
}
