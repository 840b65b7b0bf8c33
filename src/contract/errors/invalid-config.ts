import { LyceumError, type LyceumErrorOptions } from "./lyceum-error.ts";

/** Creates the error for settings that are wrong or do not fit together. `hint` says what to change. */
export function invalidConfig(message: string, hint: string, data?: LyceumErrorOptions["data"]): LyceumError {
  return new LyceumError({ code: "config.invalid", message, hint, data });
}
