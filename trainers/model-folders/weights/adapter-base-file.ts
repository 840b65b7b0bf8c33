import { writeFile } from "node:fs/promises";
import path from "node:path";
import { readModelJson } from "../../../src/core/tokens/model-file.ts";

/**
 * The file next to a PEFT adapter with details of its base model that `adapter_config.json` cannot contain. peft
 * ignores it.
 */
export const adapterBaseFile = "base_model.json";

/** The base model that an adapter was trained on. */
export interface AdapterBase {
  /** The base's absolute path at that time. Absent for a hub model and for a base in the adapter's folder. */
  readonly path?: string;
  /** The hash of its weights: see `baseHash`. */
  readonly hash?: string;
}

/** Writes {@link adapterBaseFile} into an adapter's folder. */
export async function writeAdapterBase(folder: string, base: AdapterBase): Promise<void> {
  await writeFile(path.join(folder, adapterBaseFile), `${JSON.stringify(base, null, 2)}\n`);
}

/**
 * Reads {@link adapterBaseFile}. Returns an empty object if the file is absent, as in peft's own adapters. Throws
 * `model.malformed`.
 */
export async function readAdapterBase(folder: string): Promise<AdapterBase> {
  const { path: recorded, hash } = (await readModelJson(folder, adapterBaseFile)) ?? {};
  return {
    ...(typeof recorded === "string" ? { path: recorded } : {}),
    ...(typeof hash === "string" ? { hash } : {}),
  };
}
