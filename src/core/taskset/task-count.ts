import { LyceumError } from "../../contract/errors/index.ts";
import type { Taskset } from "../../contract/taskset.ts";

/**
 * Returns how many tasks of a split to use, at most `limit`. Throws `config.invalid` with `hint` if the number is
 * infinite.
 */
export function taskCount(
  { length }: Pick<Taskset<unknown>, "length">,
  {
    split,
    limit = Number.POSITIVE_INFINITY,
    hint,
  }: { readonly split: string; readonly limit?: number | undefined; readonly hint: string },
): number {
  const count = Math.min(length === "unbounded" ? Number.POSITIVE_INFINITY : length, limit);
  if (Number.isFinite(count)) return count;
  throw new LyceumError({ code: "config.invalid", message: `The split "${split}" has no end.`, hint });
}
