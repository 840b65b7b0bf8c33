import { writeFile } from "node:fs/promises";
import path from "node:path";
import { readModelJson } from "../../../../src/core/tokens/model-file.ts";

/** The file beside a PEFT adapter that says more of its base model than `adapter_config.json` can. peft ignores it. */
export const adapterBaseFile = "base_model.json";

/** What an adapter's folder says of the base model that it was trained on. */
export interface AdapterBase {
  /** Where it was, as an absolute path; absent for a hub model and for a base beside the adapter. */
  readonly path?: string;
  /** Of its weights: see `baseHash`. */
  readonly hash?: string;
}

/** Writes {@link adapterBaseFile} into an adapter's folder. */
export async function writeAdapterBase(folder: string, base: AdapterBase): Promise<void> {
  await writeFile(path.join(folder, adapterBaseFile), `${JSON.stringify(base, null, 2)}\n`);
}

/** Reads {@link adapterBaseFile}; empty if there is none, as in peft's own adapters. Throws `model.malformed`. */
export async function readAdapterBase(folder: string): Promise<AdapterBase> {
  const { path: recorded, hash } = (await readModelJson(folder, adapterBaseFile)) ?? {};
  return {
    ...(typeof recorded === "string" ? { path: recorded } : {}),
    ...(typeof hash === "string" ? { hash } : {}),
  };
}
