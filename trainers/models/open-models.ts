import { existsSync } from "node:fs";
import type { AgentId } from "../../src/contract/action.ts";
import { invalidConfig, type LyceumError } from "../../src/contract/errors/index.ts";
import type { Model, TemplateVariables, TrainingBackend } from "../backend/training-backend.ts";
import { referenceSpec } from "../config/model-config.ts";
import { locateModel } from "./model-location.ts";
import { openCheckpoint } from "./open-checkpoint.ts";
import { checkTeam, type TeamAgents } from "./team-agents.ts";

/** A model and the agent that it plays. Every agent, if `agent` is undefined. */
export interface AgentModel {
  readonly agent: AgentId | undefined;
  readonly model: Model;
}

/** The options of {@link openModels}. */
export interface OpenModelsOptions {
  readonly backend: TrainingBackend;
  /** The base model of adapters, instead of the one that they name. */
  readonly base?: string | undefined;
  /** Replaces the models' own chat template, as in a `ModelSource`. */
  readonly chatTemplate?: string | undefined;
  /** Variables of the chat template, as in a `ModelSource`. */
  readonly templateVariables?: TemplateVariables | undefined;
  /** Branch, tag or commit of a hub id. */
  readonly revision?: string | undefined;
  /** The agents that a team must fit. Only the models of those that are played are opened. */
  readonly agents?: TeamAgents | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens the models that a path or name refers to, frozen: a Hugging Face folder, a PEFT adapter, a hub id, a team's
 * folder, a checkpoint or the folder of a run. Throws as `checkTeam`, `openCheckpoint` and the backend do. The caller
 * closes the models.
 */
export async function openModels(path: string, options: OpenModelsOptions): Promise<AgentModel[]> {
  const { backend, base, chatTemplate, templateVariables, revision, agents, signal } = options;
  const place = await locateModel(path);
  if (revision !== undefined && (place.type !== "model" || existsSync(path))) throw noRevision(path, revision);
  if (place.type === "checkpoint") return openCheckpoint(place.folder, options);
  const open = (folder: string): Promise<Model> => {
    const config = { path: folder, revision, base, chatTemplate, templateVariables };
    return backend.openModel(referenceSpec(config, { seed: 0 }), { signal });
  };
  if (place.type === "model") return [{ agent: undefined, model: await open(place.path) }];
  if (agents !== undefined) checkTeam({ team: place.folder, named: Object.keys(place.agents), agents });
  const opened: AgentModel[] = [];
  for (const [agent, folder] of Object.entries(place.agents)) {
    if (agents === undefined || agents.played.includes(agent)) opened.push({ agent, model: await open(folder) });
  }
  return opened;
}

function noRevision(path: string, revision: string): LyceumError {
  return invalidConfig(
    `The revision ${revision} was given, but ${path} is on this machine.`,
    "Remove the revision. It applies only to a model on the hub (owner/name).",
    { path, revision },
  );
}
