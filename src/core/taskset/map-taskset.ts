import type { Taskset } from "../../contract/taskset.ts";
import { taskEntry } from "./task-entry.ts";

/**
 * Maps the tasks of a taskset, for example rows of a data file to tasks. Ids are kept. Hashes are computed from the new
 * tasks. `map` is called at each `get` and must be pure.
 */
export function mapTaskset<Row, Task>(
  taskset: Taskset<Row>,
  map: (row: Row, index: number) => Task,
  name: string = taskset.name,
): Taskset<Task> {
  return {
    specificationVersion: "v1",
    name,
    length: taskset.length,
    get: async (index, options) => {
      const row = await taskset.get(index, options);
      return { ...taskEntry(map(row.task, index), index), id: row.id };
    },
  };
}
