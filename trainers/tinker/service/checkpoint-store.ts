import { randomUUID } from "node:crypto";
import { access, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { RequestError } from "./request-error.ts";

/** `weights` have the state of the optimizer. `sampler_weights` are an adapter or a model that other programs load. */
export type CheckpointKind = "weights" | "sampler_weights";

/** A checkpoint: its path in the API, and its folder on this machine. */
export interface CheckpointPlace {
  /** `tinker://MODEL/KIND/NAME`. */
  readonly path: string;
  readonly folder: string;
}

/** The folders of saved weights. */
export class CheckpointStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Returns the place of a new checkpoint, whose folder does not exist yet. Without a name, it gets a unique one. Throws
   * `RequestError` 409 if it exists and is not to be overwritten.
   */
  async create(
    modelId: string,
    kind: CheckpointKind,
    {
      path: name,
      overwrite,
    }: { readonly path?: string | null | undefined; readonly overwrite?: boolean | null | undefined },
  ): Promise<CheckpointPlace> {
    const path = `tinker://${modelId}/${kind}/${name ?? randomUUID()}`;
    const folder = this.folderOf(path, kind);
    const exists = await access(folder).then(
      () => true,
      () => false,
    );
    if (exists && overwrite !== true) throw new RequestError(409, `The checkpoint ${path} exists.`);
    if (exists) await rm(folder, { recursive: true });
    await mkdir(join(folder, ".."), { recursive: true });
    return { path, folder };
  }

  /** Returns the folder of a path. Throws `RequestError` 400 for texts that are no path of this kind. */
  folderOf(path: string, kind: CheckpointKind): string {
    const [, modelId, found, name] =
      /^tinker:\/\/([\w:-]+)\/(weights|sampler_weights)\/(?!\.)([\w.-]+)$/.exec(path) ?? [];
    if (modelId === undefined || found !== kind) throw new RequestError(400, `${path} is not a path of ${kind}.`);
    return join(this.#folder, modelId.replaceAll(":", "_"), kind, name!);
  }
}
