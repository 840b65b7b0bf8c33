import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { invalidConfig, LyceumError } from "../../src/contract/errors/index.ts";
import type { Taskset } from "../../src/contract/taskset.ts";
import { taskGroup } from "../../src/core/environment/task-group.ts";
import { createRandom, deriveSeed } from "../../src/core/random/random.ts";
import { TimeSlice } from "../../src/core/rollout/time-slice.ts";
import { compareGroups } from "../../src/core/task-groups.ts";
import type { CurriculumConfig } from "../config/curriculum-config.ts";
import { orderedTasks, shuffledPasses, type TaskOrder } from "./task-order.ts";

/**
 * Creates a task order that starts with easy tasks. Tasks are sorted by difficulty. Each batch is drawn from the
 * easiest share of them, which grows linearly from `start` to `end` over `steps` batches (competence-based curriculum,
 * Platanios et al. 2019, https://arxiv.org/abs/1903.09848). Tasks that are as difficult as the last task of the share
 * are part of it. A batch repeats a task only if there are fewer tasks than it needs. After `steps` batches, the share
 * is played in shuffled passes.
 *
 * The order depends only on the seed, the tasks and the cursor. All tasks are read once. Throws `config.invalid` for an
 * unbounded taskset, and `data.malformed` if a task has no difficulty.
 */
export async function createCurriculum<Task>(
  taskset: Taskset<Task>,
  options: CurriculumConfig & {
    /** Gives the groups of tasks. Needed without `by`. */
    readonly environment?: Pick<EnvironmentDefinition<Task>, "spec" | "groupOf">;
    readonly batchSize: number;
    readonly seed: number;
    readonly cursor?: number;
    readonly signal?: AbortSignal;
  },
): Promise<TaskOrder<Task>> {
  const { start, end, steps, batchSize, seed } = options;
  const ranks = await difficultyRanks(taskset, options);
  const easiestFirst = ranks.map((_, index) => index).sort((a, b) => ranks[a]! - ranks[b]! || a - b);
  const poolOf = (share: number): number => {
    let count = Math.max(1, Math.ceil(share * easiestFirst.length - 1e-9));
    while (ranks[easiestFirst[count]!] === ranks[easiestFirst[count - 1]!]) count++;
    return Math.min(count, easiestFirst.length);
  };
  const poolAt = (batch: number): number => poolOf(start + (end - start) * Math.min(1, batch / steps));
  const afterwards = shuffledPasses(poolOf(end), deriveSeed(seed, "after the curriculum"));
  const growing = steps * batchSize;
  let drawn: { readonly batch: number; readonly order: readonly number[] } | undefined;

  const placeAt = (position: number): number => {
    if (position >= growing) return afterwards(position - growing);
    const batch = Math.floor(position / batchSize);
    if (drawn?.batch !== batch) {
      const pool = Array.from({ length: poolAt(batch) }, (_, place) => place);
      drawn = { batch, order: createRandom(deriveSeed(seed, "curriculum", batch)).shuffle(pool) };
    }
    return drawn.order[(position % batchSize) % drawn.order.length]!;
  };

  return orderedTasks(taskset, {
    indexAt: (position) => easiestFirst[placeAt(position)]!,
    cursor: options.cursor,
    pool: (cursor) => poolAt(Math.floor(cursor / batchSize)),
  });
}

/** Returns a rank for each task by its difficulty. Tasks of equal difficulty have equal ranks. */
async function difficultyRanks<Task>(
  taskset: Taskset<Task>,
  options: Pick<Parameters<typeof createCurriculum<Task>>[1], "by" | "order" | "environment" | "signal">,
): Promise<number[]> {
  const { by, order, environment, signal } = options;
  const { length, name } = taskset;
  if (length === "unbounded") {
    throw invalidConfig(
      `A curriculum sorts all tasks, but the taskset ${name} is unbounded.`,
      "Use a part of it, such as tasks.split: train[:5000].",
    );
  }
  const values: (number | string)[] = [];
  let kind: string | undefined;
  const slice = new TimeSlice();
  for (let index = 0; index < length; index++) {
    await slice.pause();
    const { id, task } = await taskset.get(index, { signal });
    const value = by === undefined ? environment && taskGroup(environment, task) : fieldOf(task, by);
    kind ??= typeof value;
    const known = order === undefined || order.includes(String(value));
    if ((typeof value !== "number" && typeof value !== "string") || typeof value !== kind || !known) {
      throw noDifficulty({ name, id, by, value, task, order });
    }
    values.push(order === undefined ? value : order.indexOf(String(value)));
  }
  const sorted = [...new Set(values)].sort(compare);
  const ranks = new Map(sorted.map((value, rank) => [value, rank]));
  return values.map((value) => ranks.get(value)!);
}

function fieldOf(task: unknown, path: string): unknown {
  let value = task;
  for (const key of path.split(".")) {
    if (value === null || value === undefined || !Object.hasOwn(Object(value), key)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  return value;
}

/** Compares numbers by size and texts in natural order: `Level 2` before `Level 10`. */
function compare(a: number | string, b: number | string): number {
  return typeof a === "number" && typeof b === "number" ? a - b : compareGroups(String(a), String(b));
}

function noDifficulty(options: {
  readonly name: string;
  readonly id: string;
  readonly by: string | undefined;
  readonly value: unknown;
  readonly task: unknown;
  readonly order: readonly string[] | undefined;
}): LyceumError {
  const { name, id, by, value, task, order } = options;
  const fields = typeof task === "object" && task !== null ? Object.keys(task).join(", ") : "none";
  const wanted =
    order === undefined ? "a number or a text, of the same kind in all tasks" : `one of ${order.join(", ")}`;
  return new LyceumError({
    code: "data.malformed",
    message: `Task ${id} of ${name} cannot be sorted by ${by ?? "its group"}: ${by === undefined ? "groupOf" : "the field"} is ${JSON.stringify(value) ?? "missing"}.`,
    hint:
      `tasks.curriculum.by must name a field with ${wanted}. Without it, groupOf of the environment must return one. ` +
      `The task's fields: ${fields}.`,
    data: { id, by: by ?? null },
  });
}
