import { isJsonObject, type Json } from "../../contract/json.ts";

/** The replacement of a secret. */
const hiddenValue = "***";

/**
 * Hides the possible secrets of the URLs in a text: passwords, query values and parts of the path that look like keys
 * become `***`. The name of a model after `#` is kept.
 */
export function withoutUrlSecrets(text: string): string {
  return text.replace(/\b[a-z][a-z\d+.-]*:\/\/[^\s"'<>`]+/gi, hideUrl);
}

/**
 * Hides the secrets of options or a config for a log or a report. URLs lose their secrets. A value under `headers`,
 * under `env` or under a name such as `apiKey`, `access_token` or `password` is kept only if it names a variable, as
 * `$NAME`.
 */
export function withoutSecretValues(value: Json): Json {
  if (typeof value === "string") return withoutUrlSecrets(value);
  if (Array.isArray(value)) return value.map(withoutSecretValues);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => {
      if ((key === "headers" || key === "env") && isJsonObject(child)) return [key, namesAlone(child)];
      if (typeof child === "string" && isSecretName(key)) return [key, nameAlone(child)];
      return [key, withoutSecretValues(child)];
    }),
  );
}

/** Returns the texts that {@link withoutSecretValues} hides because of their names, at any depth. */
export function namedSecrets(value: Json): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(namedSecrets);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, child]) =>
    typeof child === "string" ? (isSecretName(key) ? [child] : []) : namedSecrets(child),
  );
}

/**
 * Returns the possible secrets of a URL: its password, its query values (as written and decoded), and the parts of its
 * path that look like keys.
 */
export function urlSecrets(address: string): readonly string[] {
  if (!URL.canParse(address)) return [];
  const { search, searchParams, password, pathname } = new URL(address);
  const written = search.slice(1).split("&");
  return [
    ...searchParams.values(),
    ...written.map((part) => part.slice(part.indexOf("=") + 1)),
    password,
    ...pathname.split("/").filter(isKey),
  ];
}

function hideUrl(address: string): string {
  const [, start, query, fragment] = /^([^?#]*)(\?[^#]*)?(#.*)?$/.exec(address) ?? [];
  const withoutKeys = (start ?? address)
    .split("/")
    .map((part, place) => (place > 2 && isKey(part) ? hiddenValue : part))
    .join("/");
  const withoutPassword = withoutKeys.replace(/\/\/[^/]*@/, `//${hiddenValue}@`);
  if (query === undefined || query === "?") return `${withoutPassword}${query ?? ""}${fragment ?? ""}`;
  const parts = query.slice(1).split("&");
  const hidden = parts.map((part) => (part.includes("=") ? part.replace(/=.+/, `=${hiddenValue}`) : hiddenValue));
  return `${withoutPassword}?${hidden.join("&")}${fragment ?? ""}`;
}

function namesAlone(values: Readonly<Record<string, Json>>): Json {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, nameAlone(value)]));
}

function nameAlone(value: Json): string {
  return typeof value === "string" && /^\$\w+$/.test(value) ? value : hiddenValue;
}

/** The endings of secret names, in lower case and without separators. */
const secretNames =
  /(api|access|secret|private|auth|account|subscription)key$|(api|access|auth|bearer|refresh|session)token$|^token$|secret$|password$|passwd$|^authorization$|credentials?$/;

function isSecretName(name: string): boolean {
  return secretNames.test(name.replace(/[\s_.-]/g, "").toLowerCase());
}

/** Returns true for a part of a path that looks like a key: a UUID, or many letters and digits without a word. */
function isKey(part: string): boolean {
  if (/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(part)) return true;
  // 40 hexadecimal digits are a commit hash.
  if (/^[\da-f]{40}$/.test(part)) return false;
  return part.split(/[-_.~:]/).some((piece) => piece.length >= 16 && /\d/.test(piece) && /[a-z]/i.test(piece));
}
