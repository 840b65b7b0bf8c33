import { LyceumError } from "../../../contract/errors/index.ts";
import type { Json } from "../../../contract/json.ts";
import { namedSecrets, urlSecrets, withoutUrlSecrets } from "../../text/url-secrets.ts";

/** What a request sends and no error may show. */
export interface RequestSecrets {
  /** Sent as `Authorization: Bearer ...`. */
  readonly apiKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The values of its query are secrets too. */
  readonly baseUrl?: string | undefined;
  /** Further fields of the request: what is named as a secret among them. */
  readonly extraBody?: object | undefined;
  readonly providerOptions?: object | undefined;
}

/** A shorter value is no secret, and may be part of any word. */
const shortestSecret = 8;

/** Letters of a secret at the end of a text that was cut there. */
const shortestRest = 4;

/** An error without what must stand in none: some servers repeat the key that they refuse. */
export function withoutSecrets(error: unknown, given: RequestSecrets): unknown {
  if (!LyceumError.isInstance(error)) return error;
  const secrets = secretsOf(given);
  const clean = (text: string): string => withoutUrlSecrets(secrets.reduce(withoutSecret, text));
  const { hint } = error;
  const message = clean(error.message);
  if (message === error.message && (hint === undefined || hint === clean(hint))) return error;
  return new LyceumError({ ...error.toData(), message, ...(hint === undefined ? {} : { hint: clean(hint) }) });
}

/** Every form in which a server may repeat a secret, the longest first. */
function secretsOf(secrets: RequestSecrets): readonly string[] {
  const { apiKey = "", headers = {}, baseUrl = "", extraBody = {}, providerOptions = {} } = secrets;
  // The value of a header may name its scheme before the key: Bearer KEY.
  const values = Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/)]);
  const named = [extraBody, providerOptions].flatMap((options) => namedSecrets(options as Json));
  const long = [...values, ...named, ...urlSecrets(baseUrl)].filter(({ length }) => length >= shortestSecret);
  const all = [apiKey, ...long].filter((secret) => secret !== "");
  const forms = all.flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]);
  return [...new Set(forms)].sort((one, other) => other.length - one.length);
}

/** A long answer of a server is cut, perhaps within the secret. */
function withoutSecret(text: string, secret: string): string {
  let clean = text.replaceAll(secret, "***");
  for (let length = secret.length - 1; length >= shortestRest; length--) {
    clean = clean.replaceAll(`${secret.slice(0, length)}...`, "***...");
  }
  return clean;
}
