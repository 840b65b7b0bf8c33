import { LyceumError } from "../../src/contract/errors/index.ts";
import { isLoopback } from "../../src/core/network/allowed-origin.ts";

/** What a token is for. */
export interface TokenUse {
  /** The address to listen on. An address that other machines reach needs a token. Without it, none is needed. */
  readonly hostname?: string;
  /** What the token is called in errors. `token` by default. */
  readonly name?: string;
  /** The environment variable that can have the token. */
  readonly variable?: string;
}

/**
 * Checks the token of a server. Throws `config.invalid` for a token that protects nothing (empty or blank), for one that
 * no client can send in a header, and if a server that other machines reach has none. Undefined means no token.
 */
export function checkToken(token: string | undefined, { hostname, name = "token", variable }: TokenUse = {}): void {
  if (token === undefined) {
    if (hostname !== undefined && !isLoopback(hostname)) throw needsToken({ hostname, name, variable });
    return;
  }
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(token)) return;
  const isBlank = token.trim() === "";
  throw new LyceumError({
    code: "config.invalid",
    message: isBlank
      ? `The ${name} is empty, so it would protect nothing.`
      : `The ${name} begins or ends with a space, or has characters that no header can have.`,
    hint: isBlank
      ? `Give a long random text as the ${name}, or none${variable === undefined ? "" : ` (unset ${variable} too)`}. An unset variable of a shell is an empty text.`
      : `Give a long random text of ASCII characters as the ${name}.`,
  });
}

function needsToken({ hostname, name, variable }: TokenUse): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `Other machines reach ${hostname}, so the server needs ${name === "token" ? "a token" : `an ${name}`}.`,
    hint: `Give a long random text as the ${name}${variable === undefined ? "" : ` or in ${variable}`}, or listen on 127.0.0.1.`,
    data: { hostname: hostname! },
  });
}
