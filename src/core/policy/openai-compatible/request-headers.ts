import { validateHeaderName, validateHeaderValue } from "node:http";
import { LyceumError } from "../../../contract/errors/index.ts";
import type { RequestSecrets } from "../serving/without-secrets.ts";

/** The headers of a request. Throws `config.invalid`, without the value, for one that cannot be sent. */
export function requestHeaders({
  apiKey,
  headers,
}: Pick<RequestSecrets, "apiKey" | "headers">): Readonly<Record<string, string>> {
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
