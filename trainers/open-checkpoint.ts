import { join } from "node:path";
import { z } from "zod";
import type { AgentId } from "../src/environment/environment.ts";
import { LyceumError } from "../src/errors/index.ts";
import type { Model, TrainingBackend } from "./backend/training-backend.ts";
import { modelFolder, readManifest } from "./checkpoint/checkpoint-manifest.ts";
import { type ModelConfig, modelConfigSchema, policySpec } from "./config/model-config.ts";
import { startingModels } from "./team-models.ts";

/** A model of a checkpoint, and the agent that it plays; of a run with one set of weights, every agent. */
export interface CheckpointModel {
  readonly agent: string | undefined;
  readonly model: Model;
}

/** Which model a run trained, as its checkpoints say. */
export interface CheckpointConfig {
  readonly seed: number;
  readonly model: ModelConfig;
  readonly agents: Readonly<Record<string, ModelConfig>>;
}

const recordedSchema = z.object({
  seed: z.int(),
  model: modelConfigSchema,
  agents: z.object({ models: z.record(z.string(), modelConfigSchema) }).prefault({ models: {} }),
});

/** What a checkpoint says of its models. Throws `checkpoint.unusable` where that is not whole. */
export async function readCheckpointConfig(folder: string): Promise<CheckpointConfig> {
  const { config } = await readManifest(folder);
  const parsed = recordedSchema.safeParse(config);
  if (parsed.success) return { ...parsed.data, agents: parsed.data.agents.models };
  throw new LyceumError({
    code: "checkpoint.unusable",
    message: `${folder} does not say which model it is of: ${z.prettifyError(parsed.error)}`,
    hint: "It was written by another version. Export the model with that one, and name the exported folder.",
    data: { folder },
  });
}

/** Opens the policies of a checkpoint on a backend, which closes them; critics stay where they are. */
export async function openCheckpoint(
  folder: string,
  options: { readonly backend: TrainingBackend; readonly signal?: AbortSignal },
): Promise<CheckpointModel[]> {
  const { backend, signal } = options;
  const recorded = await readCheckpointConfig(folder);
  const { seed } = recorded;
  const { models = { [modelFolder]: { valueHead: false } } } = await readManifest(folder);
  const policies = Object.entries(models).filter(([name]) => name.split("/")[0] === modelFolder);
  const agentOf = (name: string): AgentId | undefined =>
    name === modelFolder ? undefined : decodeURIComponent(name.slice(modelFolder.length + 1));
  const names = policies.map(([name]) => agentOf(name) ?? "");
  const { model: shared, agents } = await startingModels(
    { model: recorded.model, agents: { weights: "separate", models: recorded.agents } },
    { all: names, trained: names },
  );
  const opened: CheckpointModel[] = [];
  for (const [learner, [name, { valueHead }]] of policies.entries()) {
    const agent = agentOf(name);
    const config = (agent === undefined ? undefined : agents.models[agent]) ?? shared;
    const spec = { ...policySpec(config, { seed, learner }), ...(valueHead ? { valueHead } : {}) };
    const model = await backend.openModel(spec, signal === undefined ? {} : { signal });
    await model.load(join(folder, name));
    opened.push({ agent, model });
  }
  return opened;
}
