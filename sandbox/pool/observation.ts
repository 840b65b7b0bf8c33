import { z } from "zod";
import type { CaseObservation } from "../execution.ts";
import type { PlainValue } from "../plain-value.ts";
import { isPlainValue } from "../plain-value-check.ts";

/** Changed arguments may be deeper than results, because the caller chose their depth. */
const maxArgumentDepth = 200;

/** The schema of an error of untrusted code. */
export const codeErrorSchema = z.strictObject({ type: z.string(), message: z.string(), line: z.int().optional() });

const schema = z.strictObject({
  outcome: z.enum(["returned", "raised", "unsupported"]),
  value: z.unknown().optional(),
  changedArgs: z.array(z.unknown()).optional(),
  error: codeErrorSchema.optional(),
});

/**
 * Reads an observation from a message that was made next to untrusted code. Undefined if it is invalid, which means
 * that the code has tampered with it.
 */
export function readObservation(
  message: unknown,
  options: { readonly index: number; readonly depth: number; readonly cpuMs: number },
): CaseObservation | undefined {
  const { index, depth, cpuMs } = options;
  const read = schema.safeParse(message).data;
  if (read === undefined || (read.outcome === "raised" && read.error === undefined)) return undefined;
  if (read.value !== undefined && !isPlainValue(read.value, depth)) return undefined;
  if (read.changedArgs?.every((arg) => isPlainValue(arg, maxArgumentDepth)) === false) return undefined;
  return { index, ...(read as typeof read & { value?: PlainValue; changedArgs?: PlainValue[] }), cpuMs };
}
