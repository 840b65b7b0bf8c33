import { LyceumError } from "../../../contract/errors/index.ts";
import type { Json } from "../../../contract/json.ts";
import { namedSecrets, urlSecrets, withoutUrlSecrets } from "../../text/secrets.ts";

/** The parts of a request that must not appear in errors. */
export interface RequestSecrets {
  /** Sent as `Authorization: Bearer ...`. */
  readonly apiKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The values in its query are secrets too. */
  readonly baseUrl?: string | undefined;
  /** Further fields of the request. Fields with the name of a secret are secrets. */
  readonly extraBody?: object | undefined;
  readonly providerOptions?: object | undefined;
}

/** Shorter values are not treated as secrets, because they may be part of any word. */
const shortestSecret = 8;

/** The minimum number of characters of a secret at the end of a text that was cut within it. */
const shortestRest = 4;

/** Removes secrets from an error, because some servers repeat the key that they reject. */
export function withoutSecrets(error: unknown, given: RequestSecrets): unknown {
  if (!LyceumError.isInstance(error)) return error;
  const secrets = secretsOf(given);
  const clean = (text: string): string => withoutUrlSecrets(secrets.reduce(withoutSecret, text));
  const { hint } = error;
  const message = clean(error.message);
  if (message === error.message && (hint === undefined || hint === clean(hint))) return error;
  return new LyceumError({ ...error.toData(), message, ...(hint === undefined ? {} : { hint: clean(hint) }) });
}

/** Returns all forms in which a server may repeat a secret, the longest first. */
function secretsOf(secrets: RequestSecrets): readonly string[] {
  const { apiKey = "", headers = {}, baseUrl = "", extraBody = {}, providerOptions = {} } = secrets;
  // A header's value may have a scheme before the key: Bearer KEY.
  const values = Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/)]);
  const named = [extraBody, providerOptions].flatMap((options) => namedSecrets(options as Json));
  const long = [...values, ...named, ...urlSecrets(baseUrl)].filter(({ length }) => length >= shortestSecret);
  const all = [apiKey, ...long].filter((secret) => secret !== "");
  const forms = all.flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]);
  return [...new Set(forms)].sort((one, other) => other.length - one.length);
}

/** Removes a secret from a text. A long answer of a server is cut, perhaps within the secret. */
function withoutSecret(text: string, secret: string): string {
  let clean = text.replaceAll(secret, "***");
  for (let length = secret.length - 1; length >= shortestRest; length--) {
    clean = clean.replaceAll(`${secret.slice(0, length)}...`, "***...");
  }
  return clean;
}
