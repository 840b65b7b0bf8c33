import { resolve } from "node:path";
import { z } from "zod";
import { LyceumError, unknownNameError } from "../../src/contract/errors/index.ts";
import type { Taskset } from "../../src/contract/taskset.ts";
import { deriveSeed } from "../../src/core/random/random.ts";
import { contentHash } from "../../src/core/taskset/content-hash.ts";
import { generatedTaskset } from "../../src/core/taskset/generated-taskset.ts";
import { jsonlTaskset } from "../../src/core/taskset/jsonl-taskset.ts";
import { mapTaskset } from "../../src/core/taskset/map-taskset.ts";
import { arithmeticTask } from "./arithmetic-tasks.ts";
import { codeTask } from "./code-tasks.ts";
import { fileTask } from "./file-tasks.ts";
import { searchTask } from "./search-tasks.ts";
import type { ToolSetName, ToolsOptions } from "./tools-options.ts";
import type { TaskGenerator, ToolsTask } from "./tools-task.ts";

/** The default number of held-out tasks. */
const testSize = 200;

/**
 * Returns generated tasks of one split, with one kind of task per set of tools. One task in five is held out, by its
 * content alone, so no seed puts a task into both splits. `train` is generated on demand and may contain duplicates.
 * `test` has no duplicates. Throws `config.invalid` if there are no tools.
 */
export function generatedTasks(
  options: Pick<ToolsOptions, "tools" | "seed" | "limit"> & { readonly split: "train" | "test" },
): Taskset<ToolsTask> {
  const { tools, seed, limit, split } = options;
  const generators = generatorsFor(tools);
  if (generators.length === 0) {
    throw new LyceumError({
      code: "config.invalid",
      message: "The tools environment has no tools to generate tasks for.",
      hint: "Name some in the option tools, or give your own tasks with path.",
    });
  }
  return generatedTaskset({
    name: `tools/${split}`,
    seed: deriveSeed(seed, split),
    length: limit ?? (split === "test" ? testSize : "unbounded"),
    generate: (random) => random.pick(generators)(random),
    accept: ({ task }) => isHeldOut(task) === (split === "test"),
    distinct: split === "test",
  });
}

const row = z.object({
  question: z.string().min(1),
  answer: z.union([z.string().min(1), z.number()]),
  tools: z.array(z.string()).default([]),
});

/**
 * Returns custom tasks from a JSONL file. They may require the available tools. Rejects with `data.not-found` or
 * `data.malformed`, which names the line or the unknown tool.
 */
export async function customTasks(
  path: string,
  { tools: known, signal }: { readonly tools: readonly string[]; readonly signal: AbortSignal | undefined },
): Promise<Taskset<ToolsTask>> {
  const rows = await jsonlTaskset(resolve(path), { schema: row, signal });
  return mapTaskset(rows, ({ question, answer, tools }) => {
    const unknown = tools.find((name) => !known.includes(name));
    if (unknown !== undefined) throw unknownNameError({ kind: "tool", name: unknown, known, code: "data.malformed" });
    return { question, answer: String(answer), tools };
  });
}

function isHeldOut({ question, files }: ToolsTask): boolean {
  return Number.parseInt(contentHash({ question, files: files ?? null }).slice(0, 8), 16) % 5 === 0;
}

function generatorsFor(tools: readonly ToolSetName[]): readonly TaskGenerator[] {
  const calculator = tools.includes("calculator");
  const generators: Readonly<Record<ToolSetName, TaskGenerator>> = {
    calculator: arithmeticTask,
    search: searchTask({ calculator }),
    files: fileTask({ calculator }),
    python: codeTask("python"),
    javascript: codeTask("javascript"),
  };
  return tools.map((name) => generators[name]);
}
