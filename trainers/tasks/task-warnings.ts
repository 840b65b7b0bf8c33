import type { TaskEntry, Taskset } from "../../src/contract/taskset.ts";
import { contentHash } from "../../src/core/taskset/content-hash.ts";

/** The number of tasks that are compared. More would take time on a server or a large file. */
const compared = 256;

/** Returns a warning if two of the first tasks of a finite taskset have the same content. */
export async function duplicateWarning(
  tasks: Taskset,
  { signal }: { readonly signal: AbortSignal | undefined },
): Promise<string | undefined> {
  if (tasks.length === "unbounded") return undefined;
  const known = new Map<string, TaskEntry>();
  for (let index = 0; index < Math.min(compared, tasks.length); index++) {
    const entry = await tasks.get(index, { signal });
    const same = known.get(entry.hash);
    if (same !== undefined) {
      return (
        `Tasks ${same.id} and ${entry.id} of ${tasks.name} have the same content. A task counts as often as it is in the ` +
        "list, and a split after it can have copies on both sides. lyceum check tests the environment."
      );
    }
    known.set(entry.hash, entry);
  }
  return undefined;
}

/** Returns a warning if a task was changed after it was loaded, which an episode must not do. */
export function changedTaskWarning(played: readonly TaskEntry[]): string | undefined {
  const changed = played.find(({ task, hash }) => contentHash(task) !== hash);
  if (changed === undefined) return undefined;
  return (
    `Task ${changed.id} was changed while it was played, so that later episodes get another task. Copy a task before you ` +
    "change it. lyceum check shows which call does it."
  );
}
