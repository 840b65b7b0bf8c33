import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { Json } from "../../src/contract/json.ts";
import { damageOf, fileChecksumsSchema } from "../../src/core/files/file-checksums.ts";
import { contentHash } from "../../src/core/taskset/content-hash.ts";

/** The manifest of a checkpoint. It records the position of the run and which run it was. */
export interface CheckpointManifest {
  /** The number of finished training steps. */
  readonly step: number;
  /** The position in the task order. With the step and the config's seed, this is the whole random state. */
  readonly taskCursor: number;
  /** The environment's id. */
  readonly environment: string;
  /** The content hash of the parts of `config` that the weights depend on. */
  readonly configHash: string;
  /** The run's config, with the environment and its options. */
  readonly config: Json;
  /** The metrics of the last step, and of the last evaluation under `evaluation/`. */
  readonly metrics: Readonly<Record<string, number>>;
  /** True if an evaluation was run after this step. */
  readonly evaluated?: boolean;
  /** True if a step has changed the weights of a policy. */
  readonly trained?: boolean;
  /** The length of the trace after this step, in bytes. Absent if the run had no trace. */
  readonly traceLength?: number;
}

/** The file name of the manifest in a checkpoint. */
export const manifestFile = "manifest.json";

/**
 * The folder of the model in a checkpoint, written by `Model.save`. With several learners, it has a folder for each.
 */
export const modelFolder = "model";

const count = z.int().min(0);
const schema = z.object({
  schemaVersion: z.literal(2),
  step: count,
  taskCursor: count,
  environment: z.string(),
  configHash: z.string(),
  config: z.json(),
  metrics: z.record(z.string(), z.number()),
  evaluated: z.boolean().exactOptional(),
  trained: z.boolean().exactOptional(),
  traceLength: count.exactOptional(),
  models: z.record(z.string(), z.object({ valueHead: z.boolean() })),
  files: fileChecksumsSchema,
  sha256: z.string(),
});

/** The manifest of a checkpoint on disk, with its models and the checksums of its other files. */
export type WrittenManifest = CheckpointManifest & Pick<z.output<typeof schema>, "models" | "files">;

/** Returns the text of the manifest file, with a checksum of its content. */
export function manifestText(manifest: WrittenManifest): string {
  const content = JSON.parse(JSON.stringify({ schemaVersion: 2, ...manifest })) as Record<string, Json>;
  return `${JSON.stringify({ ...content, sha256: contentHash(content) }, null, 2)}\n`;
}

/**
 * Reads the manifest of a checkpoint folder. Throws `checkpoint.unusable` if it is missing, malformed or damaged. The
 * other files are not checked; see {@link readWholeManifest}.
 */
export async function readManifest(folder: string): Promise<WrittenManifest> {
  const path = join(folder, manifestFile);
  try {
    const value = JSON.parse(await readFile(path, "utf8")) as Record<string, Json>;
    const { schemaVersion: _, sha256, ...manifest } = schema.parse(value);
    const { sha256: __, ...content } = value;
    if (sha256 !== contentHash(content)) throw new Error("Its checksum differs.");
    return manifest as WrittenManifest;
  } catch (cause) {
    throw new LyceumError({
      code: "checkpoint.unusable",
      message: `${path} is missing or damaged.`,
      hint: "Name another checkpoint of the run. With --resume, the run continues from its newest intact checkpoint.",
      data: { path },
      cause,
    });
  }
}

/** Reads the manifest of a checkpoint and checks all its files. Throws `checkpoint.unusable` if any is damaged. */
export async function readWholeManifest(folder: string): Promise<WrittenManifest> {
  const manifest = await readManifest(folder);
  const damage = await damageOf(folder, manifest.files);
  if (damage === undefined) return manifest;
  throw new LyceumError({
    code: "checkpoint.unusable",
    message: `The checkpoint ${folder} is damaged: ${damage}.`,
    hint: "Name another checkpoint of the run. With --resume, the run continues from its newest intact checkpoint.",
    data: { folder },
  });
}
