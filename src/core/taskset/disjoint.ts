import { LyceumError } from "../../contract/errors/index.ts";
import type { Taskset } from "../../contract/taskset.ts";

/**
 * Throws `data.malformed` if a task of `second` is also in `first`, compared by content hash. The error names the ids
 * of these tasks. Reads both tasksets completely. Of an unbounded taskset it reads the first `sample` tasks (10,000 by
 * default).
 */
export async function checkDisjoint(
  first: Taskset,
  second: Taskset,
  options: { readonly sample?: number; readonly signal?: AbortSignal } = {},
): Promise<void> {
  const idsByHash = new Map<string, string>();
  for await (const { hash, id } of entries(first, options)) idsByHash.set(hash, id);
  const overlap: { first: string; second: string }[] = [];
  for await (const { hash, id } of entries(second, options)) {
    const firstId = idsByHash.get(hash);
    if (firstId !== undefined) overlap.push({ first: firstId, second: id });
  }
  if (overlap.length === 0) return;
  const shown = overlap
    .slice(0, 10)
    .map((pair) => (pair.first === pair.second ? pair.first : `${pair.second} (as ${pair.first})`));
  throw new LyceumError({
    code: "data.malformed",
    message: `${overlap.length} tasks of "${second.name}" are also in "${first.name}": ${shown.join(", ")}${overlap.length > shown.length ? ", ..." : ""}.`,
    hint: "Evaluate on tasks that training never sees: use another split, or slices that do not overlap.",
    data: { overlap },
  });
}

async function* entries(
  taskset: Taskset,
  options: { readonly sample?: number; readonly signal?: AbortSignal },
): AsyncGenerator<{ hash: string; id: string }> {
  const length = taskset.length === "unbounded" ? (options.sample ?? 10_000) : taskset.length;
  for (let index = 0; index < length; index++) yield await taskset.get(index, { signal: options.signal });
}
