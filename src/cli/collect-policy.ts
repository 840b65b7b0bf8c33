import { existsSync } from "node:fs";
import { join } from "node:path";
import { manifestFile, modelFolder, readManifest } from "../../trainers/checkpoint/checkpoint-manifest.ts";
import { type ModelConfigInput, policySpec, referenceSpec } from "../../trainers/config/model-config.ts";
import { parseTrainingConfig, type TrainingConfigInput } from "../../trainers/config/training-config.ts";
import { type OpenPolicy, openModelPolicy } from "../../trainers/open-policy.ts";
import type { EnvironmentDefinition } from "../environment/environment.ts";
import { LyceumError } from "../errors/index.ts";
import { demonstrationPolicy } from "../policy/demonstration-policy.ts";
import type { CollectArguments } from "./create-program.ts";
import type { Rooms } from "./rooms.ts";

/** Who plays: the environment's expert, or a model. Throws `config.invalid` for arguments that do not go together. */
export async function openCollector(
  { policy, model, device }: Pick<CollectArguments, "policy" | "model" | "device">,
  options: {
    readonly environment: EnvironmentDefinition;
    readonly rooms: Pick<Rooms, "createBackend">;
    readonly signal: AbortSignal;
  },
): Promise<OpenPolicy> {
  const { environment, rooms, signal } = options;
  if ((policy === "model") !== (model !== undefined)) {
    throw new LyceumError({
      code: "config.invalid",
      message: model === undefined ? "--policy model needs --model." : "--model belongs to --policy model.",
      hint: "Such as --policy model --model runs/train/model.",
    });
  }
  if (model !== undefined) return openModel({ path: model, device, rooms, signal });
  if (environment.demonstrate === undefined) {
    throw new LyceumError({
      code: "policy.unsupported-input",
      message: `Environment "${environment.spec.id}" has no demonstrations.`,
      hint: "Give it a demonstrate function, or let a model play: --policy model --model FOLDER.",
    });
  }
  return { policy: demonstrationPolicy({ environment }), [Symbol.asyncDispose]: async () => {} };
}

/** A Hugging Face folder, a hub id, or a checkpoint folder of a run. */
async function openModel(options: {
  readonly path: string;
  readonly device: string;
  readonly rooms: Pick<Rooms, "createBackend">;
  readonly signal: AbortSignal;
}): Promise<OpenPolicy> {
  const { path, rooms, signal } = options;
  const device = options.device as NonNullable<ModelConfigInput["device"]>;
  const checkpoint = existsSync(join(path, manifestFile)) ? await readManifest(path) : undefined;
  const { environment: _, ...recorded } = (checkpoint?.config ?? {}) as { readonly environment?: unknown };
  const input: TrainingConfigInput =
    checkpoint === undefined
      ? { algorithm: { id: "sft" }, model: { path, device } }
      : (recorded as unknown as TrainingConfigInput);
  const parsed = parseTrainingConfig({ ...input, model: { ...input.model, device } });

  await using resources = new AsyncDisposableStack();
  const backend = resources.use(await rooms.createBackend(parsed));
  const spec = checkpoint === undefined ? referenceSpec : policySpec;
  const model = await backend.openModel(spec(parsed.model, parsed.seed), { signal });
  if (checkpoint !== undefined) await model.load(join(path, modelFolder));
  const opened = resources.use(await openModelPolicy(model));
  const owned = resources.move();
  return { policy: opened.policy, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
