/**
 * A task with its identifiers. The hash depends on the content only, not on the source.
 *
 * @example
 * import { generatedTaskset, type TaskEntry } from "lyceum";
 * const taskset = generatedTaskset({ name: "digits", seed: 1, length: 9, generate: (_, index) => ({ digit: index }) });
 * const entry: TaskEntry<{ digit: number }> = await taskset.get(3);
 * entry.task; // => { digit: 3 }
 * entry.hash.length; // => 64
 */
export interface TaskEntry<Task = unknown> {
  readonly index: number;
  /** The name within the taskset: the data's own id if it has one, else the index. */
  readonly id: string;
  /**
   * The SHA-256 of the task's canonical JSON, in hexadecimal. Seeds, resumption and the checks for overlapping splits
   * use it.
   */
  readonly hash: string;
  readonly task: Task;
}

/**
 * An indexed collection of tasks: a file, a hub data set, or an unbounded generator.
 *
 * @example
 * import { generatedTaskset, type Taskset } from "lyceum";
 * const squares: Taskset<number> = generatedTaskset({
 *   name: "squares",
 *   seed: 1,
 *   length: "unbounded",
 *   generate: (_, index) => index ** 2,
 * });
 * (await squares.get(12)).task; // => 144
 */
export interface Taskset<Task = unknown> {
  readonly specificationVersion: "v1";
  readonly name: string;
  readonly length: number | "unbounded";
  /** Returns the task at `index`, from 0. Throws `data.out-of-range` if `index` is beyond the end. */
  get(index: number, options?: { readonly signal?: AbortSignal }): Promise<TaskEntry<Task>>;
}
