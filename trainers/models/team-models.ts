import type { AgentId } from "../../src/contract/action.ts";
import { invalidConfig, unknownNameError } from "../../src/contract/errors/index.ts";
import type { ModelConfig } from "../config/model-config.ts";
import type { StartingModels } from "../config/training-config.ts";
import { locateModel, type ModelLocation } from "./model-location.ts";
import { oneModelError } from "./team-agents.ts";

/**
 * Resolves the models that the agents start from. If `model.path` is a team's folder, each agent gets its own model in
 * it. If it is a run's folder, agents get the model that the run exported. Throws `config.unknown-name` if the team has
 * an agent that the environment does not have. Throws `config.invalid` if the team lacks an agent to train, or if the
 * agents share their weights.
 */
export async function startingModels(
  config: StartingModels,
  {
    agents,
    exported,
  }: {
    /** All agents of the environment, and the agents to train. */
    readonly agents: { readonly all?: readonly AgentId[]; readonly trained: readonly AgentId[] };
    /** Returns the folder with the exported model or team of a checkpoint. */
    readonly exported: (checkpoint: string) => Promise<string>;
  },
): Promise<StartingModels> {
  const locate = async (path: string): Promise<Exclude<ModelLocation, { type: "checkpoint" }>> => {
    const place = await locateModel(path);
    return place.type === "checkpoint" ? locate(await exported(place.folder)) : place;
  };
  const single = async (model: ModelConfig, agent?: AgentId): Promise<ModelConfig> => {
    if (model.path === undefined) return model;
    const place = await locate(model.path);
    if (place.type === "model") return { ...model, path: place.path };
    const folder = agent === undefined ? undefined : place.agents[agent];
    if (folder === undefined) throw oneModelError(place.folder, place.agents);
    return { ...model, path: folder };
  };
  const own: Record<AgentId, ModelConfig> = {};
  for (const [agent, model] of Object.entries(config.agents.models)) own[agent] = await single(model, agent);
  const models = { ...config.agents, models: own };
  const { path } = config.model;
  const place = path === undefined ? undefined : await locate(path);
  if (place?.type !== "team") return { model: await single(config.model), agents: models };
  const { folder, agents: folders } = place;
  for (const name of Object.keys(folders)) {
    if (agents.all?.includes(name) === false) throw unknownNameError({ kind: "agent", name, known: agents.all });
  }
  if (agents.all?.length === 1 || config.agents.weights === "shared") {
    throw invalidConfig(
      `${folder} has a model for each of ${Object.keys(folders).join(", ")}, but one set of weights is trained.`,
      `Name one of them, such as ${Object.values(folders)[0]}, or train them separately: agents.weights: separate.`,
    );
  }
  const lacking = agents.trained.find((agent) => folders[agent] === undefined && own[agent] === undefined);
  if (lacking !== undefined) {
    throw invalidConfig(
      `The team in ${folder} has no model for the agent "${lacking}", only for ${Object.keys(folders).join(", ")}.`,
      `Add the folder ${folder}/${encodeURIComponent(lacking)}, or name its model: agents.models: { ${lacking}: ... }.`,
    );
  }
  const each = agents.trained.map((agent) => [agent, own[agent] ?? { ...config.model, path: folders[agent] }] as const);
  return { model: each[0]?.[1] ?? config.model, agents: { ...models, models: Object.fromEntries(each) } };
}
