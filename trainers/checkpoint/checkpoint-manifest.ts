import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { Json } from "../../src/contract/json.ts";
import { contentHash } from "../../src/core/taskset/content-hash.ts";
import { damageOf, type FileChecksums } from "./file-checksums.ts";

/** What stands in a checkpoint beside the model: where the run was, and which run it was. */
export interface CheckpointManifest {
  /** Training steps done. */
  readonly step: number;
  /** Position in the task order. Together with the step and the config's seed it is all the random state there is. */
  readonly taskCursor: number;
  /** The environment's id. */
  readonly environment: string;
  /** Content hash of the parts of `config` that the weights depend on. */
  readonly configHash: string;
  /** The run's config, with the environment and its options. */
  readonly config: Json;
  /** The metrics of the last step, and of the last evaluation under `evaluation/`. */
  readonly metrics: Readonly<Record<string, number>>;
  /** True where held-out tasks were played at this step. */
  readonly evaluated?: boolean;
  /** The length of the trace after this step, in bytes; absent where the run had none. */
  readonly traceLength?: number;
  /** What is trained: the folders within the checkpoint, and whether each model has a value head. */
  readonly models?: Readonly<Record<string, { readonly valueHead: boolean }>>;
  /** Of the checkpoint's other files; absent in checkpoints of earlier versions. */
  readonly files?: FileChecksums;
}

/** The name of the manifest within a checkpoint. */
export const manifestFile = "manifest.json";

/** Within a checkpoint of one learner, the folder that `Model.save` wrote; of several, it has one for each. */
export const modelFolder = "model";

const count = z.int().min(0);
const fields = {
  step: count,
  taskCursor: count,
  environment: z.string(),
  configHash: z.string(),
  config: z.json(),
  metrics: z.record(z.string(), z.number()),
  evaluated: z.boolean().exactOptional(),
  traceLength: count.exactOptional(),
  models: z.record(z.string(), z.object({ valueHead: z.boolean() })).exactOptional(),
};
const schema = z.discriminatedUnion("schemaVersion", [
  z.object({ schemaVersion: z.literal(1), ...fields }),
  z.object({
    schemaVersion: z.literal(2),
    ...fields,
    files: z.record(z.string(), z.object({ bytes: count, sha256: z.string() })),
    sha256: z.string(),
  }),
]);

/** A manifest as the text of its file, with a checksum of itself. */
export function manifestText(manifest: CheckpointManifest & { readonly files: FileChecksums }): string {
  const content = JSON.parse(JSON.stringify({ schemaVersion: 2, ...manifest })) as Record<string, Json>;
  return `${JSON.stringify({ ...content, sha256: contentHash(content) }, null, 2)}\n`;
}

/**
 * The manifest of a checkpoint folder. Throws `checkpoint.unusable` if it is missing, malformed or damaged; the other
 * files may be damaged all the same, see {@link checkpointDamage}.
 */
export async function readManifest(folder: string): Promise<CheckpointManifest> {
  const path = join(folder, manifestFile);
  try {
    const value = JSON.parse(await readFile(path, "utf8")) as Record<string, Json>;
    const { schemaVersion, ...manifest } = schema.parse(value);
    if (schemaVersion === 1) return manifest as CheckpointManifest;
    const { sha256, ...content } = value;
    if (sha256 !== contentHash(content)) throw new Error("Its checksum differs.");
    const { sha256: _, ...rest } = manifest as typeof manifest & { readonly sha256: string };
    return rest as CheckpointManifest;
  } catch (cause) {
    throw new LyceumError({
      code: "checkpoint.unusable",
      message: `${path} is missing or damaged.`,
      hint: "Name another checkpoint of the run. The run itself goes on from its newest whole checkpoint by --resume.",
      data: { path },
      cause,
    });
  }
}

/** What is wrong with the files of a checkpoint, in words; undefined if all is well, or if it has no checksums. */
export async function checkpointDamage(
  folder: string,
  { files = {} }: CheckpointManifest,
): Promise<string | undefined> {
  return damageOf(folder, files);
}

/** The manifest of a checkpoint whose files are all whole. Throws `checkpoint.unusable`. */
export async function readWholeManifest(folder: string): Promise<CheckpointManifest> {
  const manifest = await readManifest(folder);
  const damage = await checkpointDamage(folder, manifest);
  if (damage === undefined) return manifest;
  throw new LyceumError({
    code: "checkpoint.unusable",
    message: `The checkpoint ${folder} is damaged: ${damage}.`,
    hint: "Name another checkpoint of the run. The run itself goes on from its newest whole checkpoint by --resume.",
    data: { folder },
  });
}
