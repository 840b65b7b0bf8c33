import { LyceumError } from "../../../src/contract/errors/index.ts";
import type { Json } from "../../../src/contract/json.ts";

/**
 * The options of a benchmark's environment: those that are `fixed`, for they make the benchmark what it is, and the
 * others as they are set. Throws `config.invalid` for one that is set otherwise than it is fixed.
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
    message: `The benchmark "${benchmark}" has ${changed} = ${JSON.stringify(fixed[changed])}, and it is set to ${JSON.stringify(set[changed])}.`,
    hint: "Evaluate its environment with --env to set it otherwise.",
    data: { benchmark, option: changed },
  });
}
