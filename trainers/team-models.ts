import type { AgentId } from "../src/environment/environment.ts";
import { LyceumError, unknownNameError } from "../src/errors/index.ts";
import type { ModelConfig } from "./config/model-config.ts";
import type { AgentsConfig } from "./config/training-config.ts";
import { locateModel } from "./model-place.ts";
import { oneModelError } from "./team-agents.ts";

/** The part of a training config that says which model each agent begins with. */
export interface StartingModels {
  readonly model: ModelConfig;
  readonly agents: Pick<AgentsConfig, "weights" | "models">;
}

/**
 * The models that the agents begin with: if `model.path` is a team's folder, each agent's own in it, and if it is a
 * run's folder, the model that the run exported. `agents` are all of the environment and those to train. Throws
 * `config.unknown-name` for a team with an agent that is not among all, and `config.invalid` for one that lacks an agent
 * to train, for agents that share weights, and for a checkpoint.
 */
export async function startingModels(
  config: StartingModels,
  agents: { readonly all?: readonly AgentId[]; readonly trained: readonly AgentId[] },
): Promise<StartingModels> {
  const own: Record<AgentId, ModelConfig> = {};
  for (const [agent, model] of Object.entries(config.agents.models)) own[agent] = await singleModel(model);
  const models = { ...config.agents, models: own };
  const { path } = config.model;
  const place = path === undefined ? undefined : await locateModel(path);
  if (place?.type !== "team") return { model: await singleModel(config.model), agents: models };
  const { folder, agents: folders } = place;
  for (const name of Object.keys(folders)) {
    if (agents.all?.includes(name) === false) throw unknownNameError({ kind: "agent", name, known: agents.all });
  }
  if (agents.all?.length === 1 || config.agents.weights === "shared") {
    throw invalid(
      `${folder} has a model for each of ${Object.keys(folders).join(", ")}, and one set of weights is trained.`,
      `Name one of them, such as ${Object.values(folders)[0]}, or train them apart: agents.weights: separate.`,
    );
  }
  const lacking = agents.trained.find((agent) => folders[agent] === undefined && own[agent] === undefined);
  if (lacking !== undefined) {
    throw invalid(
      `The team in ${folder} has no model for the agent "${lacking}", but for ${Object.keys(folders).join(", ")}.`,
      `Add the folder ${folder}/${encodeURIComponent(lacking)}, or name its model: agents.models: { ${lacking}: ... }.`,
    );
  }
  const each = agents.trained.map((agent) => [agent, own[agent] ?? { ...config.model, path: folders[agent] }] as const);
  return { model: each[0]?.[1] ?? config.model, agents: { ...models, models: Object.fromEntries(each) } };
}

/** A model with the folder that its path stands for. */
async function singleModel(model: ModelConfig): Promise<ModelConfig> {
  if (model.path === undefined) return model;
  const place = await locateModel(model.path);
  if (place.type === "model") return { ...model, path: place.path };
  if (place.type === "team") throw oneModelError(place.folder, place.agents);
  throw invalid(
    `${place.folder} is a checkpoint, and a training begins with a model.`,
    "Resume that run, or export its model first: lyceum export CHECKPOINT -o FOLDER.",
  );
}

function invalid(message: string, hint: string): LyceumError {
  return new LyceumError({ code: "config.invalid", message, hint });
}
