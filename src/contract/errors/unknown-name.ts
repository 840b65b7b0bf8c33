import { type ErrorCode, LyceumError } from "./lyceum-error.ts";
import { nearestName } from "./nearest-name.ts";

/**
 * Creates the error for an unknown name. It suggests the nearest known name. `kind` is a noun for what the name
 * identifies: "environment", "config key", "device".
 */
export function unknownNameError(options: {
  readonly kind: string;
  readonly name: string;
  readonly known: readonly string[];
  readonly code?: ErrorCode;
}): LyceumError {
  const { kind, name, known } = options;
  const nearest = nearestName(name, known);
  return new LyceumError({
    code: options.code ?? "config.unknown-name",
    message: `Unknown ${kind} "${name}".`,
    hint:
      nearest === undefined
        ? known.length === 0
          ? `No ${kind} is available.`
          : `Known: ${known.join(", ")}.`
        : `Did you mean "${nearest}"? Known: ${known.join(", ")}.`,
    data: { name, known: [...known], ...(nearest === undefined ? {} : { nearest }) },
  });
}
