import { stat } from "node:fs/promises";
import path from "node:path";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { readModelJson } from "../../src/core/tokens/model-file.ts";
import { findModel, isHubId, type LocalModel, type ModelFolderOptions } from "./model-folder.ts";
import { readAdapterBase } from "./weights/adapter-base-file.ts";

/**
 * Finds the base model of a PEFT adapter: `base` if given, else the model in the adapter's config. A path in the config
 * is relative to the adapter's folder, or else to the current folder. Throws `model.missing` if the config has no base
 * model or the model cannot be found, and `model.unsupported` if the base is an adapter too.
 */
export async function findBase(
  adapter: string,
  options: Omit<ModelFolderOptions, "revision"> & { readonly base?: string | undefined },
): Promise<LocalModel> {
  const { base, ...hub } = options;
  const found = base === undefined ? await findNamedBase(adapter, hub) : await findModel(base, hub);
  if (found.kind === "model") return found;
  throw new LyceumError({
    code: "model.unsupported",
    message: `The base of the adapter ${adapter} is ${found.folder}, which is an adapter itself.`,
    hint: "Merge that adapter into its own base first: lyceum export FOLDER --merged -o OUT.",
    data: { adapter, base: found.folder },
  });
}

async function findNamedBase(adapter: string, hub: ModelFolderOptions): Promise<LocalModel> {
  const config = (await readModelJson(adapter, "adapter_config.json")) ?? {};
  const { base_model_name_or_path: name, revision } = config;
  if (typeof name !== "string" || name === "") throw missing(adapter, "does not name its base model");
  const { path: recorded } = await readAdapterBase(adapter);
  const folders = [path.resolve(adapter, name), path.resolve(name), ...(recorded === undefined ? [] : [recorded])];
  for (const folder of folders) if (await isFolder(folder)) return findModel(folder);
  if (!isHubId(name)) throw missing(adapter, `names the base model ${name}, but that folder does not exist`);
  try {
    return await findModel(name, { ...hub, ...(typeof revision === "string" ? { revision } : {}) });
  } catch (cause) {
    if (!LyceumError.isInstance(cause) || cause.code !== "model.missing") throw cause;
    throw missing(adapter, `names the base model ${name}, which cannot be found: ${cause.message}`, cause);
  }
}

function missing(adapter: string, why: string, cause?: unknown): LyceumError {
  return new LyceumError({
    code: "model.missing",
    message: `The adapter ${adapter} ${why.replace(/\.$/, "")}.`,
    hint: "Name the base model: --base MODEL on the command line, model.base in a config, base in a policy file.",
    data: { adapter },
    cause,
  });
}

async function isFolder(folder: string): Promise<boolean> {
  return stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
