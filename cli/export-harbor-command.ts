import { cp, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { EnvironmentDefinition, TaskFolder } from "../src/contract/environment.ts";
import { LyceumError } from "../src/contract/errors/index.ts";
import { makeFolder } from "../src/core/files/make-folder.ts";
import { visibleText } from "../src/core/text/visible-text.ts";
import type { CommandContext } from "./command-context.ts";
import type { ExportHarborArguments } from "./export-harbor-program.ts";
import { namedEnvironment } from "./named-environment.ts";
import { createPolicyOpener } from "./policy-opener.ts";
import { refuseFullFolder } from "./refuse-full-folder.ts";

/**
 * Runs `lyceum export-harbor`: writes the tasks of a split as Harbor task folders to a new folder. Throws
 * `config.invalid` if the folder is not empty, for an environment or a task that cannot be exported, and for a split
 * without an end. Passes on the errors of `namedEnvironment` and of the tasks.
 */
export async function exportHarborCommand(
  args: ExportHarborArguments,
  options: Omit<CommandContext, "environment">,
): Promise<void> {
  const { environment: id, set, output: root, image } = args;
  const { catalog, signal } = options;
  await refuseFullFolder(root);
  await using opener = createPolicyOpener({ catalog, signal });
  const definition = await namedEnvironment({ id, set, environments: catalog.environments, open: opener.open });
  const folders = await taskFolders(definition, { split: args.split ?? definition.splits[0]!, image, signal });
  for (const folder of folders) {
    signal.throwIfAborted();
    await writeFolder(join(root, folder.name), folder);
  }
  options.output.write(visibleText(`${root}: ${folders.length} task${folders.length === 1 ? "" : "s"}\n`));
}

/** Returns the folders of all tasks of a split, before any of them is written. */
async function taskFolders(
  definition: EnvironmentDefinition,
  options: { readonly split: string; readonly image: string | undefined; readonly signal: AbortSignal },
): Promise<readonly TaskFolder[]> {
  const { split, image, signal } = options;
  const { taskFolder, spec } = definition;
  if (taskFolder === undefined) throw notExported(spec.id);
  const { length, get } = await definition.tasks(split, { signal });
  if (length === "unbounded") throw endless(spec.id, split);
  const folders: TaskFolder[] = [];
  const names = new Set<string>();
  for (let index = 0; index < length; index += 1) {
    signal.throwIfAborted();
    const { task, id } = await get(index, { signal });
    const folder = await taskFolder(task, image === undefined ? {} : { image }).catch((error: unknown) => {
      throw ofTask(error, id);
    });
    // Problems of a file may share a name.
    let { name } = folder;
    for (let number = 2; names.has(name); number += 1) name = `${folder.name}-${number}`;
    names.add(name);
    folders.push({ ...folder, name });
  }
  return folders;
}

async function writeFolder(folder: string, content: TaskFolder): Promise<void> {
  if ("copyOf" in content) {
    await makeFolder(dirname(folder));
    await cp(content.copyOf, folder, { recursive: true, verbatimSymlinks: true });
    return;
  }
  for (const [path, text] of Object.entries(content.files)) {
    await makeFolder(dirname(join(folder, path)));
    await writeFile(join(folder, path), text, { flag: "wx", mode: path.endsWith(".sh") ? 0o755 : 0o644 });
  }
}

function notExported(id: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `The environment "${id}" cannot be exported as Harbor tasks: its rewards are computed in this program, not by tests in a container.`,
    hint: "Serve it by lyceum serve, or write a Python client for it by lyceum export-python. The environments code and harbor can be exported.",
    data: { environment: id },
  });
}

function endless(id: string, split: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `The split "${split}" of "${id}" has no end.`,
    hint: `Select a slice, such as --split '${split}[:100]'.`,
  });
}

/** Names the task in an error. */
function ofTask(error: unknown, id: string): unknown {
  if (!LyceumError.isInstance(error)) return error;
  const { code, message, hint, data } = error;
  return new LyceumError({ code, message: `Task ${id}: ${message}`, hint, data, cause: error });
}
