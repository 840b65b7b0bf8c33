import { LyceumError } from "../../../src/contract/errors/index.ts";
import type { Json } from "../../../src/contract/json.ts";

/**
 * Returns the options of a benchmark's environment: the `fixed` ones, which define the benchmark, and the others as
 * set. Throws `config.invalid` if an option is set to another value than its fixed one.
 */
export function withFixedOptions<Fixed extends Readonly<Record<string, Json>>>(
  benchmark: string,
  options: { readonly set: Readonly<Record<string, Json>>; readonly fixed: Fixed },
): Readonly<Record<string, never>> & Fixed {
  const { set, fixed } = options;
  const changed = Object.keys(fixed).find((name) => Object.hasOwn(set, name) && set[name] !== fixed[name]);
  if (changed === undefined) return { ...set, ...fixed } as Readonly<Record<string, never>> & Fixed;
  throw new LyceumError({
    code: "config.invalid",
    message: `The benchmark "${benchmark}" requires ${changed} = ${JSON.stringify(fixed[changed])}, but it is set to ${JSON.stringify(set[changed])}.`,
    hint: "To use another value, evaluate the environment itself with --env.",
    data: { benchmark, option: changed },
  });
}
