import { existsSync } from "node:fs";
import { join } from "node:path";
import { manifestFile } from "../../trainers/checkpoint/checkpoint-manifest.ts";
import { type ModelConfig, type ModelConfigInput, referenceSpec } from "../../trainers/config/model-config.ts";
import { parseTrainingConfig } from "../../trainers/config/training-config.ts";
import { openCheckpoint, readCheckpointConfig } from "../../trainers/open-checkpoint.ts";
import { type OpenPolicy, openModelPolicy } from "../../trainers/open-policy.ts";
import type { Policy } from "../policy/policy.ts";
import { teamPolicy } from "../policy/team-policy.ts";
import { createTextRenderer } from "../tokens/text-renderer.ts";
import type { Rooms } from "./rooms.ts";

/**
 * A Hugging Face folder, a hub id, or a checkpoint folder of a run, on the embedded engine. A checkpoint of several
 * agents' weights plays each agent with its own.
 */
export async function openEnginePolicy(options: {
  readonly path: string;
  readonly device: string;
  readonly rooms: Pick<Rooms, "createBackend">;
  /** The model goes on with the text of its prompt: no chat template. */
  readonly completion?: boolean;
  readonly signal?: AbortSignal;
}): Promise<OpenPolicy> {
  const { path, rooms, completion = false, signal } = options;
  const device = options.device as NonNullable<ModelConfigInput["device"]>;
  const isCheckpoint = existsSync(join(path, manifestFile));
  const recorded: Partial<ModelConfig> = isCheckpoint ? (await readCheckpointConfig(path)).model : { path };
  // It may have been trained on another machine, and is always sampled in float32.
  const { precision: _, deviceIndex: __, ...kept } = recorded;
  const model = { ...kept, device } as ModelConfigInput;
  const parsed = parseTrainingConfig({ algorithm: { id: "sft" }, model });

  await using resources = new AsyncDisposableStack();
  const backend = resources.use(await rooms.createBackend(parsed));
  const aborting = signal === undefined ? {} : { signal };
  const models = isCheckpoint
    ? await openCheckpoint(path, { backend, ...aborting })
    : [{ agent: undefined, model: await backend.openModel(referenceSpec(parsed.model, { seed: 0 }), aborting) }];
  const policies: Record<string, Policy> = {};
  for (const { agent = "", model } of models) {
    const renderer = completion ? { renderer: createTextRenderer(model.tokenizer) } : {};
    policies[agent] = resources.use(await openModelPolicy(model, renderer)).policy;
  }
  const owned = resources.move();
  return { policy: policies[""] ?? teamPolicy(policies), [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
