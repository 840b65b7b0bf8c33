import { LyceumError } from "../../../src/contract/errors/index.ts";

/** Creates the error for a request that a server cannot read. */
export function invalidRequest(message: string, hint: string): LyceumError {
  return new LyceumError({ code: "server.invalid-request", message, hint });
}
