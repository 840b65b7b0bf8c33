import { validateHeaderName, validateHeaderValue } from "node:http";
import { LyceumError } from "../../../contract/errors/index.ts";
import type { RequestSecrets } from "../serving/without-secrets.ts";

/**
 * Returns the headers of a request. Throws `config.invalid` for an invalid header. The error does not have its value.
 */
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
        message: `The header "${name}" is invalid.`,
        hint: "Names have letters, digits and dashes. Values have no line breaks: check the end of the API key for one.",
        data: { header: name },
      });
    }
  }
  return all;
}
