import type { Taskset } from "../../contract/taskset.ts";
import { taskEntry } from "./task-entry.ts";

/**
 * A taskset whose tasks are made from another's, such as tasks from the rows of a data file. Ids stay those of the
 * rows; hashes are those of the new tasks. `map` is called anew at each `get` and must be pure.
 */
export function mapTaskset<Row, Task>(
  taskset: Taskset<Row>,
  map: (row: Row, index: number) => Task,
  name: string = taskset.name,
): Taskset<Task> {
  return {
    name,
    length: taskset.length,
    get: async (index, options) => {
      const row = await taskset.get(index, options);
      return { ...taskEntry(map(row.task, index), index), id: row.id };
    },
  };
}
