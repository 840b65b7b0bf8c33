import { isJsonObject, type Json } from "./json.ts";

/** What stands in place of a secret. */
const hiddenValue = "***";

/**
 * A text without what may be secret in its addresses: passwords, and the values of queries, become `***`. The name of a
 * model after `#` stays.
 */
export function withoutUrlSecrets(text: string): string {
  return text.replace(/\b[a-z][a-z\d+.-]*:\/\/[^\s"'<>`]+/gi, hideUrl);
}

/**
 * Options or a config as a log or a report may hold them: no address has a secret, and a value under `headers` or `env`
 * is kept only if it names a variable, as `$NAME`.
 */
export function withoutSecretValues(value: Json): Json {
  if (typeof value === "string") return withoutUrlSecrets(value);
  if (Array.isArray(value)) return value.map(withoutSecretValues);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [
      key,
      (key === "headers" || key === "env") && isJsonObject(child) ? namesAlone(child) : withoutSecretValues(child),
    ]),
  );
}

/** The values of queries in an address, as they are written and decoded, and its password. */
export function urlSecrets(address: string): readonly string[] {
  if (!URL.canParse(address)) return [];
  const { search, searchParams, password } = new URL(address);
  const written = search.slice(1).split("&");
  return [...searchParams.values(), ...written.map((part) => part.slice(part.indexOf("=") + 1)), password];
}

function hideUrl(address: string): string {
  const [, start, query, fragment] = /^([^?#]*)(\?[^#]*)?(#.*)?$/.exec(address) ?? [];
  const withoutPassword = (start ?? address).replace(/\/\/[^/]*@/, `//${hiddenValue}@`);
  if (query === undefined || query === "?") return `${withoutPassword}${query ?? ""}${fragment ?? ""}`;
  const parts = query.slice(1).split("&");
  const hidden = parts.map((part) => (part.includes("=") ? part.replace(/=.+/, `=${hiddenValue}`) : hiddenValue));
  return `${withoutPassword}?${hidden.join("&")}${fragment ?? ""}`;
}

function namesAlone(values: Readonly<Record<string, Json>>): Json {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [
      key,
      typeof value === "string" && /^\$\w+$/.test(value) ? value : hiddenValue,
    ]),
  );
}
