import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { AgentId } from "../src/contract/action.ts";
import { LyceumError } from "../src/contract/errors/index.ts";
import { type CheckpointManifest, modelFolder, readWholeManifest } from "./checkpoint/checkpoint-manifest.ts";
import { type ModelConfig, modelConfigSchema, policySpec } from "./config/model-config.ts";
import type { AgentModel, OpenModelsOptions } from "./open-models.ts";
import { startFolder } from "./start-folder.ts";
import { checkTeam } from "./team-agents.ts";
import { startingModels } from "./team-models.ts";

/** Which model a run trained, as its checkpoints say. */
interface CheckpointConfig {
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
function checkpointConfig(folder: string, { config }: CheckpointManifest): CheckpointConfig {
  const parsed = recordedSchema.safeParse(config);
  if (parsed.success) return { ...parsed.data, agents: parsed.data.agents.models };
  throw new LyceumError({
    code: "checkpoint.unusable",
    message: `${folder} does not say which model it is of: ${z.prettifyError(parsed.error)}`,
    hint: "It was written by another version. Export the model with that one, and name the exported folder.",
    data: { folder },
  });
}

/**
 * Opens the policies of a checkpoint on a backend; critics stay where they are. `base` is the model that the run began
 * with, if that is no longer where it was. With `agents`, the checkpoint's must fit them, and only those that are played
 * are opened. Close the models after use.
 */
export async function openCheckpoint(folder: string, options: OpenModelsOptions): Promise<AgentModel[]> {
  const { backend, base, chatTemplate, templateVariables, agents: team, signal } = options;
  const manifest = await readWholeManifest(folder);
  const recorded = checkpointConfig(folder, manifest);
  const { seed } = recorded;
  const { models = { [modelFolder]: { valueHead: false } } } = manifest;
  const policies = Object.entries(models).filter(([name]) => name.split("/")[0] === modelFolder);
  const agentOf = (name: string): AgentId | undefined =>
    name === modelFolder ? undefined : decodeURIComponent(name.slice(modelFolder.length + 1));
  const names = policies.flatMap(([name]) => agentOf(name) ?? []);
  if (team !== undefined && names.length > 0) checkTeam({ team: folder, members: names, agents: team });
  const changed = (recordedModel: ModelConfig): ModelConfig => {
    const model = base === undefined ? recordedModel : withBase(recordedModel, base);
    return {
      ...model,
      ...(chatTemplate === undefined ? {} : { chatTemplate }),
      ...(templateVariables === undefined ? {} : { templateVariables }),
    };
  };
  const { model: shared, agents } = await startingModels(
    {
      model: changed(recorded.model),
      agents: {
        weights: "separate",
        models: Object.fromEntries(Object.entries(recorded.agents).map(([name, model]) => [name, changed(model)])),
      },
    },
    // A run that began with a checkpoint has its models within its own folder.
    { agents: { trained: names }, exported: async (checkpoint) => startFolder(join(folder, "../.."), checkpoint) },
  );
  const opened: AgentModel[] = [];
  for (const [learner, [name, { valueHead }]] of policies.entries()) {
    const agent = agentOf(name);
    if (agent !== undefined && team?.played.includes(agent) === false) continue;
    const config = (agent === undefined ? undefined : agents.models[agent]) ?? shared;
    const spec = { ...policySpec(config, { seed, learner }), ...(valueHead ? { valueHead } : {}) };
    const model = await backend.openModel(spec, signal === undefined ? {} : { signal });
    opened.push({ agent, model });
    await model.load(join(folder, name));
  }
  return opened;
}

/** A model with another base: under the adapter that it begins with, or in its own place. */
function withBase(model: ModelConfig, base: string): ModelConfig {
  if (model.path === undefined) {
    throw new LyceumError({
      code: "config.invalid",
      message: `The base ${base} was given for a checkpoint of a model from scratch, which needs none.`,
      hint: "Leave the base out.",
    });
  }
  const isAdapter = existsSync(join(model.path, "adapter_config.json"));
  return isAdapter ? { ...model, base } : { ...model, path: base };
}
