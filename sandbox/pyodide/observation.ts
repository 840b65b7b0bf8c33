import { withoutUndefined } from "../../src/core/without-undefined.ts";
import type { CaseObservation, CodeError } from "../execution.ts";
import type { PlainValue } from "../plain-value.ts";
import { isPlainValue } from "../plain-value-check.ts";

const outcomes = ["returned", "raised", "unsupported"] as const;
const maxArgumentDepth = 200;

/**
 * Parses an observation from text that was made next to untrusted code. Undefined if the text is invalid, which means
 * that the code has tampered with it.
 */
export function readObservation(
  index: number,
  text: string,
  options: { readonly depth: number; readonly cpuMs: number },
): CaseObservation | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return undefined;
  const { outcome, value, changedArgs, error, ...rest } = parsed as Record<string, unknown>;
  const known = outcomes.find((name) => name === outcome);
  if (known === undefined || Object.keys(rest).length > 0) return undefined;
  if (value !== undefined && !isPlainValue(value, options.depth)) return undefined;
  if (changedArgs !== undefined && !isListOfValues(changedArgs)) return undefined;
  if (error !== undefined && !isCodeError(error)) return undefined;
  return withoutUndefined({ index, outcome: known, value, changedArgs, error, cpuMs: options.cpuMs });
}

function isListOfValues(value: unknown): value is readonly PlainValue[] {
  return Array.isArray(value) && value.every((item) => isPlainValue(item, maxArgumentDepth));
}

function isCodeError(value: unknown): value is CodeError {
  if (typeof value !== "object" || value === null) return false;
  const { type, message, line, ...rest } = value as Record<string, unknown>;
  const texts = typeof type === "string" && typeof message === "string";
  return texts && (line === undefined || Number.isInteger(line)) && Object.keys(rest).length === 0;
}
