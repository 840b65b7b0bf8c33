import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { AgentId } from "../../src/contract/action.ts";
import { invalidConfig, LyceumError } from "../../src/contract/errors/index.ts";
import { type CheckpointManifest, modelFolder, readWholeManifest } from "../checkpoint/checkpoint-manifest.ts";
import { type ModelConfig, modelConfigSchema, policySpec } from "../config/model-config.ts";
import type { AgentModel, OpenModelsOptions } from "./open-models.ts";
import { startFolder } from "./start-folder.ts";
import { checkTeam } from "./team-agents.ts";
import { startingModels } from "./team-models.ts";

/** The model that a run trained, as recorded in its checkpoints. */
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

/** Reads which models a checkpoint has. Throws `checkpoint.unusable` if the record is incomplete. */
function checkpointConfig(folder: string, { config }: CheckpointManifest): CheckpointConfig {
  const parsed = recordedSchema.safeParse(config);
  if (parsed.success) return { ...parsed.data, agents: parsed.data.agents.models };
  throw new LyceumError({
    code: "checkpoint.unusable",
    message: `The checkpoint ${folder} does not record which model was trained: ${z.prettifyError(parsed.error)}`,
    hint: "Another version of Lyceum wrote it. Export the model with that version, and name the exported folder.",
    data: { folder },
  });
}

/**
 * Opens the policies of a checkpoint on a backend. Critics are not opened. `base` replaces the model that the run
 * started from, if that has moved. With `agents`, the checkpoint must fit these agents, and only the models of those
 * that are played are opened. The caller closes the models.
 */
export async function openCheckpoint(folder: string, options: OpenModelsOptions): Promise<AgentModel[]> {
  const { backend, base, chatTemplate, templateVariables, agents: team, signal } = options;
  const manifest = await readWholeManifest(folder);
  const recorded = checkpointConfig(folder, manifest);
  const { seed } = recorded;
  const policies = Object.entries(manifest.models).filter(([name]) => name.split("/")[0] === modelFolder);
  const agentOf = (name: string): AgentId | undefined =>
    name === modelFolder ? undefined : decodeURIComponent(name.slice(modelFolder.length + 1));
  const names = policies.flatMap(([name]) => agentOf(name) ?? []);
  if (team !== undefined && names.length > 0) checkTeam({ team: folder, named: names, agents: team });
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
    // A run that started from a checkpoint has copies of its models in its own folder.
    { agents: { trained: names }, exported: async (checkpoint) => startFolder(join(folder, "../.."), checkpoint) },
  );
  const opened: AgentModel[] = [];
  for (const [learner, [name, { valueHead }]] of policies.entries()) {
    const agent = agentOf(name);
    if (agent !== undefined && team?.played.includes(agent) === false) continue;
    const config = (agent === undefined ? undefined : agents.models[agent]) ?? shared;
    const spec = { ...policySpec(config, { seed, learner }), ...(valueHead ? { valueHead } : {}) };
    const model = await backend.openModel(spec, { signal });
    opened.push({ agent, model });
    await model.load(join(folder, name), { optimizer: false });
  }
  return opened;
}

/** Returns a model config with another base: below the adapter that it starts from, or in place of the model itself. */
function withBase(model: ModelConfig, base: string): ModelConfig {
  if (model.path === undefined) {
    throw invalidConfig(
      `The base ${base} was given, but the checkpoint is of a model from scratch, which has no base.`,
      "Remove the base.",
    );
  }
  const isAdapter = existsSync(join(model.path, "adapter_config.json"));
  return isAdapter ? { ...model, base } : { ...model, path: base };
}
