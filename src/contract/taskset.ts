/** A task with its identifiers. The hash depends on the content only, not on the source. */
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

/** An indexed collection of tasks: a file, a hub data set, or an unbounded generator. */
export interface Taskset<Task = unknown> {
  readonly name: string;
  readonly length: number | "unbounded";
  /** Returns the task at `index`, from 0. Throws `data.out-of-range` if `index` is beyond the end. */
  get(index: number, options?: { readonly signal?: AbortSignal }): Promise<TaskEntry<Task>>;
}
