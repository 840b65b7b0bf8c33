/** A task with what identifies it. Two tasks of equal content have equal hashes, wherever they were read from. */
export interface TaskEntry<Task = unknown> {
  readonly index: number;
  /** A name within the taskset: the data's own id where it has one, else its index. */
  readonly id: string;
  /** SHA-256 of the task's canonical JSON, in hexadecimal. Keys randomness, resumption and split-overlap checks. */
  readonly hash: string;
  readonly task: Task;
}

/** An indexed collection of tasks: a file, a hub data set, or a generator without end. */
export interface Taskset<Task = unknown> {
  readonly name: string;
  readonly length: number | "unbounded";
  /** The task at `index`, from 0. Throws `data.out-of-range` beyond the end. */
  get(index: number, options?: { readonly signal?: AbortSignal }): Promise<TaskEntry<Task>>;
}
