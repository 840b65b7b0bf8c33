import { isJsonObject, tryParseJson } from "../../src/contract/json.ts";
import type { CaseObservation, CodeError } from "../execution.ts";
import { codeErrorSchema, readObservation } from "../pool/observation.ts";

/** The lines that a child reported about itself. The code in it may have written any of them. */
export interface Report {
  readonly cases: readonly CaseObservation[];
  /** True if the code was loaded. No later message can revoke this. */
  readonly loaded: boolean;
  /** Why the code could not be loaded. */
  readonly loadError?: CodeError;
  /** True if all cases were run. */
  readonly ended: boolean;
  /** True if Python ran out of memory. */
  readonly outOfMemory: boolean;
  /** True if a value was larger than the limit. */
  readonly tooLarge: boolean;
  /** True if a line is invalid or out of place. */
  readonly broken: boolean;
}

/**
 * Parses the messages of a child: that the code is loaded or why not, then the cases with `indices`, each once and in
 * order, then the end. Each message contains the nonce.
 */
export function readReport(
  text: string,
  options: { readonly nonce: string; readonly indices: readonly number[]; readonly depth: number },
): Report {
  const cases: CaseObservation[] = [];
  const lines = text.split("\n");
  // The last line is empty, or was cut off when the process ended.
  lines.pop();
  const report = { loaded: false, ended: false, outOfMemory: false, tooLarge: false, broken: false };
  let loadError: CodeError | undefined;
  for (const line of lines) {
    const [, nonce, name, cpu, json] = /^(\w+) ([\w-]+) (\d+\.\d+) (\{.*)$/.exec(line) ?? [];
    const message = json === undefined ? undefined : tryParseJson(json);
    if (nonce !== options.nonce || !isJsonObject(message) || report.ended || loadError !== undefined) {
      return { cases, ...report, broken: true };
    }
    if (name === "end") {
      report.ended = cases.length === options.indices.length;
      if (!report.ended) return { cases, ...report, broken: true };
    } else if (name === "loaded" && cases.length === 0 && !report.loaded) {
      report.loaded = true;
    } else if (name === "load" && cases.length === 0 && !report.loaded) {
      loadError = codeErrorSchema.safeParse(message.error).data;
      if (loadError === undefined) return { cases, ...report, broken: true };
    } else if (message.outcome === "too-large") {
      return { cases, ...report, tooLarge: true };
    } else {
      const index = options.indices[cases.length];
      const place = { index: index!, depth: options.depth, cpuMs: Number(cpu) };
      const observation = name === String(index) ? readObservation(message, place) : undefined;
      if (observation === undefined) return { cases, ...report, broken: true };
      cases.push(observation);
    }
  }
  const last = loadError ?? cases.at(-1)?.error;
  const outOfMemory = last?.type === "MemoryError" && (loadError !== undefined || cases.at(-1)!.outcome === "raised");
  return { cases, ...report, outOfMemory, ...(loadError === undefined ? {} : { loadError }) };
}
