import { validateHeaderName, validateHeaderValue } from "node:http";
import { LyceumError } from "../../errors/index.ts";

/** A server's key, and what else stands at the head of each request. */
export interface RequestSecrets {
  /** Sent as `Authorization: Bearer ...`. */
  readonly apiKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The headers of a request. Throws `config.invalid`, without the value, for one that cannot be sent. */
export function requestHeaders({ apiKey, headers }: RequestSecrets): Readonly<Record<string, string>> {
  const all = { ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }), ...headers };
  for (const [name, value] of Object.entries(all)) {
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch {
      throw new LyceumError({
        code: "config.invalid",
        message: `The header "${name}" cannot be sent.`,
        hint: "A name is letters, digits and dashes; a value has no line ends. Look for one at the end of a key.",
        data: { header: name },
      });
    }
  }
  return all;
}

/** An error without what must stand in none: some servers repeat the key that they refuse. */
export function withoutSecrets(error: unknown, { apiKey, headers = {} }: RequestSecrets): unknown {
  if (!LyceumError.isInstance(error)) return error;
  // A short value is no secret, and may be part of any word.
  const secrets = [apiKey, ...Object.values(headers).filter(({ length }) => length > 7)];
  let { message } = error;
  for (const secret of secrets) if (secret) message = message.replaceAll(secret, "***");
  return message === error.message ? error : new LyceumError({ ...error.toData(), message });
}
