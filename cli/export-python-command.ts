import { constants, copyFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pythonPackage } from "../server/python/python-package.ts";
import type { EnvironmentRunner, ServedEnvironment } from "../server/session/environment-runner.ts";
import { localRunner } from "../server/session/local-runner.ts";
import type { ToolSpec } from "../src/contract/message.ts";
import { makeFolder } from "../src/core/files/make-folder.ts";
import { visibleText } from "../src/core/text/visible-text.ts";
import type { CommandContext } from "./command-context.ts";
import type { ExportPythonArguments } from "./export-python-program.ts";
import { isModulePath } from "./module-path.ts";
import { namedEnvironment } from "./named-environment.ts";
import { packageVersion } from "./package-version.ts";
import { createPolicyOpener } from "./policy-opener.ts";
import { refuseFullFolder } from "./refuse-full-folder.ts";

/**
 * Runs `lyceum export-python`: writes a Python package for an environment to a new folder. Throws `config.invalid` if the
 * folder is not empty and for an invalid name, and the errors of `namedEnvironment`.
 */
export async function exportPythonCommand(
  args: ExportPythonArguments,
  options: Omit<CommandContext, "environment">,
): Promise<void> {
  const { environment: id, set, output: folder, name, space } = args;
  const { catalog, signal } = options;
  await refuseFullFolder(folder);
  await using opener = createPolicyOpener({ catalog, signal });
  const { environments } = catalog;
  const definition = await namedEnvironment({ id, set, environments, open: opener.open });
  await using runner = await localRunner([{ name: definition.spec.id, definition }]);
  const [served] = runner.environments;
  const { spec, splits } = served!;
  const isFile = isModulePath(id);
  const isBuiltIn = environments.list().some((entry) => entry.id === id);
  const files = pythonPackage({
    spec: { ...spec, tools: spec.tools ?? (await observedTools(runner, { served: served!, signal })) },
    splits,
    name,
    serve: ["--environments", isFile ? `./${basename(id)}` : id, ...set.flatMap((option) => ["--set", option])],
    npm: [`lyceum@${packageVersion()}`, ...(isFile || isBuiltIn ? [] : [id])],
    file: isFile ? basename(id) : undefined,
    space,
  });
  for (const [path, text] of Object.entries(files)) {
    signal.throwIfAborted();
    await makeFolder(dirname(join(folder, path)));
    await writeFile(join(folder, path), text, { flag: "wx" });
  }
  // The image copies it.
  if (isFile) await copyFile(id, join(folder, basename(id)), constants.COPYFILE_EXCL);
  options.output.write(
    visibleText(`${folder}: ${[...Object.keys(files), ...(isFile ? [basename(id)] : [])].join(", ")}\n`),
  );
}

/** The number of tasks whose first observations are searched for tools. */
const searchedTasks = 16;

/** Returns the tools of the first tasks, for an environment whose spec states none. */
async function observedTools(
  runner: EnvironmentRunner,
  { served, signal }: { readonly served: ServedEnvironment; readonly signal: AbortSignal },
): Promise<readonly ToolSpec[]> {
  const { name, splits } = served;
  const [split] = splits;
  if (split === undefined) return [];
  const count = split.length === "unbounded" ? searchedTasks : Math.min(split.length, searchedTasks);
  const found = new Map<string, ToolSpec>();
  await using session = await runner.open({ environment: name, signal });
  for (let index = 0; index < count; index += 1) {
    const { observations } = await session.reset({ split: split.name, index, signal });
    for (const { tools = [] } of Object.values(observations)) for (const tool of tools) found.set(tool.name, tool);
  }
  return [...found.values()];
}
