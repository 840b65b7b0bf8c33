import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { LyceumError } from "../../src/errors/index.ts";
import type { Json } from "../../src/json.ts";

/** What stands in a checkpoint beside the model: where the run was, and which run it was. */
export interface CheckpointManifest {
  readonly schemaVersion: 1;
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
}

/** The name of the manifest within a checkpoint. */
export const manifestFile = "manifest.json";

/** Within a checkpoint of one learner, the folder that `Model.save` wrote; of several, it has one for each. */
export const modelFolder = "model";

const schema = z.object({
  schemaVersion: z.literal(1),
  step: z.int().min(0),
  taskCursor: z.int().min(0),
  environment: z.string(),
  configHash: z.string(),
  config: z.json(),
  metrics: z.record(z.string(), z.number()),
  evaluated: z.boolean().exactOptional(),
  traceLength: z.int().min(0).exactOptional(),
  models: z.record(z.string(), z.object({ valueHead: z.boolean() })).exactOptional(),
});

/** The manifest of a checkpoint folder. Throws `checkpoint.unusable` where it is missing or malformed. */
export async function readManifest(folder: string): Promise<CheckpointManifest> {
  const path = join(folder, manifestFile);
  try {
    return schema.parse(JSON.parse(await readFile(path, "utf8"))) as CheckpointManifest;
  } catch (cause) {
    throw new LyceumError({
      code: "checkpoint.unusable",
      message: `${path} is missing or malformed.`,
      hint: "Resume from another checkpoint of the run, or start the run anew in another folder.",
      data: { path },
      cause,
    });
  }
}
