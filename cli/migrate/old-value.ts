import { parse } from "yaml";
import { isJsonObject, type Json } from "../../src/contract/json.ts";

/**
 * Converts a value of an old config as Python's readers would: `None`, `True` and `False`, `yes` and `no`, numbers in
 * quotes or numbers that YAML 1.1 reads as text (`3e-5`), and lists and tuples written as text.
 */
export function plainValue(value: Json): Json {
  if (Array.isArray(value)) return value.map(plainValue);
  if (isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plainValue(part)]));
  return typeof value === "string" ? plainText(value) : value;
}

function plainText(text: string): Json {
  const word = text.trim();
  if (/^(none|null|~)?$/i.test(word)) return null;
  if (/^(true|yes|on)$/i.test(word)) return true;
  if (/^(false|no|off)$/i.test(word)) return false;
  if (/^[+-]?(\d[\d_]*\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(word)) return Number(word.replaceAll("_", ""));
  const list = /^[[(](.*)[\])]$/s.exec(word);
  if (list === null) return text;
  try {
    return plainValue(parse(`[${list[1]!.replace(/,\s*$/, "")}]`) as Json);
  } catch {
    return text;
  }
}
