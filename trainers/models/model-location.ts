import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { AgentId } from "../../src/contract/action.ts";
import { manifestFile, modelFolder } from "../checkpoint/checkpoint-manifest.ts";
import { listCheckpoints, partialSuffix } from "../checkpoint/find-checkpoints.ts";
import { replacedSuffix } from "../checkpoint/replace-folder.ts";
import { modelChecksumsFile } from "../model-folders/weights/model-checksums.ts";

/** What the path or name of a model refers to. */
export type ModelLocation =
  /** A checkpoint of a run; see `openCheckpoint`. */
  | { readonly type: "checkpoint"; readonly folder: string }
  /** A folder with one model folder per agent, as a run with several agents exports it. */
  | { readonly type: "team"; readonly folder: string; readonly agents: Readonly<Record<AgentId, string>> }
  /** A Hugging Face folder, a PEFT adapter folder or a hub id: a backend opens it. */
  | { readonly type: "model"; readonly path: string };

/**
 * Finds out what the path or name of a model refers to. A run's folder refers to the model that the run exported, or to
 * its newest checkpoint if it exported none. Anything unknown is a `model`; the backend that opens it reports the
 * error.
 */
export async function locateModel(path: string): Promise<ModelLocation> {
  if (!(await isFolder(path))) return { type: "model", path };
  if (existsSync(join(path, manifestFile))) return { type: "checkpoint", folder: path };
  if (isModelFolder(path)) return { type: "model", path };
  const exported = join(path, modelFolder);
  const checkpoints = join(path, "checkpoints");
  if (existsSync(checkpoints) || existsSync(join(path, "metrics.jsonl"))) {
    if (await isFolder(exported)) return locateModel(exported);
    // Takes the newest even if it is damaged. To fall back silently would open another model.
    const newest = (await listCheckpoints(checkpoints)).at(-1);
    if (newest !== undefined) return { type: "checkpoint", folder: newest };
  }
  const agents = await agentFolders(path);
  return Object.keys(agents).length === 0 ? { type: "model", path } : { type: "team", folder: path, agents };
}

/** Returns the model folders in a folder, by the agent that each is named after. */
async function agentFolders(folder: string): Promise<Record<AgentId, string>> {
  const names = (await readdir(folder)).toSorted();
  const unfinished = [partialSuffix, replacedSuffix];
  const models = names.filter(
    (name) => isModelFolder(join(folder, name)) && !unfinished.some((suffix) => name.endsWith(suffix)),
  );
  return Object.fromEntries(models.map((name) => [decoded(name), join(folder, name)]));
}

function isModelFolder(folder: string): boolean {
  return ["config.json", "adapter_config.json", modelChecksumsFile].some((name) => existsSync(join(folder, name)));
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
