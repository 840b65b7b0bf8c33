import { randomUUID } from "node:crypto";
import { access, mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { tryParseJson } from "../../../src/contract/json.ts";
import { replaceFile } from "../../../src/core/files/replace-file.ts";
import { isCheckpointName } from "../protocol/requests.ts";
import type { ModelShape } from "./model-shape.ts";
import { RequestError } from "./request-error.ts";

const kinds = ["weights", "sampler_weights", "external_weights"] as const;

/**
 * `weights`: with the state of the optimizer. `sampler_weights`: an adapter or a model that other programs can load.
 * `external_weights`: the same, saved for a download.
 */
export type CheckpointKind = (typeof kinds)[number];

/** A checkpoint: its path in the API, and its folder on this machine. */
export interface CheckpointPlace {
  /** `tinker://MODEL/KIND/NAME`. */
  readonly path: string;
  readonly folder: string;
}

/** A saved checkpoint. */
export interface Checkpoint extends CheckpointPlace {
  readonly modelId: string;
  readonly kind: CheckpointKind;
  readonly name: string;
  readonly shape: ModelShape;
  /** The time at which it was saved, in ISO 8601. */
  readonly time: string;
  /** The time at which it is deleted, in ISO 8601. Undefined for never. */
  readonly expires?: string | undefined;
  readonly bytes: number;
}

const infoSchema = z.object({
  path: z.string(),
  time: z.string(),
  expires: z.string().optional(),
  shape: z.object({ rank: z.int().min(0), attention: z.boolean(), mlp: z.boolean() }),
});

/** The saved weights in a folder, also those of earlier servers. */
export class CheckpointStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Saves a checkpoint: `write` creates its folder. Without a name, it gets a unique one. Throws `RequestError` 409 if it
   * exists and `overwrite` is false.
   */
  async save(
    options: {
      readonly modelId: string;
      readonly kind: CheckpointKind;
      readonly shape: ModelShape;
      readonly name: string | null | undefined;
      readonly overwrite: boolean;
      /** The time in seconds after which it is deleted. Never by default. */
      readonly ttl?: number | null | undefined;
    },
    write: (folder: string) => Promise<void>,
  ): Promise<string> {
    const { modelId, kind, shape, overwrite, ttl } = options;
    const path = `tinker://${modelId}/${kind}/${options.name ?? randomUUID()}`;
    const folder = this.#partsOf(path).folder;
    if (!overwrite && (await exists(`${folder}.json`))) {
      throw new RequestError(409, `The checkpoint ${path} exists.`);
    }
    await removeFolder(folder);
    await mkdir(join(folder, ".."), { recursive: true });
    await write(folder);
    // A checkpoint without this file is incomplete.
    await writeInfo(folder, { path, time: new Date().toISOString(), expires: expiryAfter(ttl), shape });
    return path;
  }

  /** Changes when a checkpoint is deleted: after `ttl` seconds, or never. Throws like {@link find}. */
  async setExpiry(path: string, ttl: number | null | undefined): Promise<void> {
    const { folder, time, shape } = await this.find(path);
    await writeInfo(folder, { path, time, expires: expiryAfter(ttl), shape });
  }

  /** Throws `RequestError` 400 for a text that is not a path of this kind. */
  checkPath(path: string, kind: CheckpointKind): void {
    if (this.#partsOf(path).kind !== kind) throw new RequestError(400, `${path} is not a path of ${kind}.`);
  }

  /**
   * Returns a checkpoint. Throws `RequestError` 400 for a text that is not a path, and 404 if there is no such
   * checkpoint.
   */
  async find(path: string): Promise<Checkpoint> {
    const checkpoint = await this.#read(this.#partsOf(path).folder);
    if (checkpoint === undefined) throw new RequestError(404, `There is no checkpoint ${path}.`);
    return checkpoint;
  }

  /** Returns the checkpoints of a model, or all, oldest first. */
  async list(modelId?: string): Promise<Checkpoint[]> {
    const models = modelId === undefined ? await namesIn(this.#folder) : [folderName(modelId)];
    const folders = await Promise.all(
      models.flatMap((model) =>
        kinds.map(async (kind) => {
          const files = await namesIn(join(this.#folder, model, kind));
          return files.filter((file) => file.endsWith(".json")).map((file) => join(this.#folder, model, kind, file));
        }),
      ),
    );
    const found = await Promise.all(folders.flat().map((file) => this.#read(file.replace(/\.json$/, ""))));
    return found
      .filter((checkpoint) => checkpoint !== undefined)
      .toSorted((a, b) => a.time.localeCompare(b.time) || a.path.localeCompare(b.path));
  }

  /** Deletes a checkpoint. Throws like {@link find}. */
  async remove(path: string): Promise<void> {
    await removeFolder((await this.find(path)).folder);
  }

  async #read(folder: string): Promise<Checkpoint | undefined> {
    const text = await readFile(`${folder}.json`, "utf8").catch(() => undefined);
    if (text === undefined || !(await exists(folder))) return undefined;
    // A file that was cut off belongs to an incomplete checkpoint.
    const { data: info } = infoSchema.safeParse(tryParseJson(text));
    if (info === undefined) return undefined;
    if (info.expires !== undefined && Date.parse(info.expires) <= Date.now()) {
      await removeFolder(folder);
      return undefined;
    }
    const sizes = await Promise.all((await namesIn(folder)).map((name) => sizeOf(join(folder, name))));
    return { ...info, ...this.#partsOf(info.path), bytes: sizes.reduce((sum, size) => sum + size, 0) };
  }

  #partsOf(path: string): Pick<Checkpoint, "path" | "folder" | "modelId" | "kind" | "name"> {
    const [, modelId, kind, name] = /^tinker:\/\/([\w:-]{1,256})\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
    if (!kinds.includes(kind as CheckpointKind) || !isCheckpointName(name!))
      throw new RequestError(400, `${path} is not a path of saved weights.`);
    const folder = join(this.#folder, folderName(modelId!), kind!, name!);
    return { path, folder, modelId: modelId!, kind: kind as CheckpointKind, name: name! };
  }
}

function folderName(modelId: string): string {
  if (!/^[\w:-]{1,256}$/.test(modelId)) throw new RequestError(404, "There is no such model.");
  return modelId.replaceAll(":", "_");
}

function writeInfo(folder: string, info: z.output<typeof infoSchema>): Promise<void> {
  return replaceFile(`${folder}.json`, JSON.stringify(info));
}

function expiryAfter(ttl: number | null | undefined): string | undefined {
  return ttl === null || ttl === undefined ? undefined : new Date(Date.now() + ttl * 1000).toISOString();
}

async function removeFolder(folder: string): Promise<void> {
  await rm(`${folder}.json`, { force: true });
  await rm(folder, { recursive: true, force: true });
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Returns the size of a file in bytes. 0 if it does not exist. */
function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

/** Returns the names in a folder. None if it does not exist. */
function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

/** Returns the model id in the path of sampler weights. Undefined for other texts. */
export function modelIdOf(path: string): string | undefined {
  return /^tinker:\/\/([^/]+)\/sampler_weights\//.exec(path)?.[1];
}
