import type { Model, TemplateVariables } from "../../trainers/backend/training-backend.ts";
import { openModels } from "../../trainers/models/open-models.ts";
import { type OpenPolicy, openModelPolicy } from "../../trainers/models/open-policy.ts";
import { oneModelError, type TeamAgents } from "../../trainers/training/team-agents.ts";
import type { Policy } from "../contract/policy.ts";
import { teamPolicy } from "../core/policy/team-policy.ts";
import { createTextRenderer } from "../core/tokens/text-renderer.ts";
import type { SharedEngine } from "./shared-engine.ts";

/**
 * Opens a policy on the embedded engine from everything that `openModels` supports. In a team, or in a checkpoint with
 * the weights of several agents, each agent plays with its own weights. Throws `config.invalid` if such a model is used
 * without agents, for example as a judge.
 */
export async function openEnginePolicy(options: {
  readonly path: string;
  /** Its name in traces. */
  readonly name: string;
  readonly base?: string | undefined;
  readonly chatTemplate?: string | undefined;
  readonly templateVariables?: TemplateVariables | undefined;
  readonly revision?: string | undefined;
  readonly engine: SharedEngine;
  /** The agents that it plays. Absent for a single policy, such as a judge. */
  readonly agents?: TeamAgents | undefined;
  /** True if the model continues the text of its prompt, without a chat template. */
  readonly completion?: boolean;
  readonly signal?: AbortSignal | undefined;
}): Promise<OpenPolicy> {
  const { path, name, base, revision, engine, agents, completion = false, signal } = options;
  // Completion prompts are for base models, which have no template.
  const chatTemplate = completion ? "none" : options.chatTemplate;
  const templateVariables = completion ? undefined : options.templateVariables;
  await using resources = new AsyncDisposableStack();
  const models = await openModels(path, {
    ...{ backend: await engine.backend(), base, chatTemplate, templateVariables, revision, agents, signal },
  });
  for (const { model } of models) resources.defer(() => model.close());
  const open = async (model: Model, called: string): Promise<Policy> => {
    const renderer = completion ? { renderer: createTextRenderer(model.tokenizer) } : {};
    return resources.use(await openModelPolicy(model, { ...renderer, name: called })).policy;
  };
  const policies: Record<string, Policy> = {};
  let single: Policy | undefined;
  for (const { agent, model } of models) {
    if (agent === undefined) single = await open(model, name);
    else policies[agent] = await open(model, `${name}/${agent}`);
  }
  if (single === undefined && agents === undefined) {
    throw oneModelError(path, Object.fromEntries(Object.keys(policies).map((agent) => [agent, `${path}/${agent}`])));
  }
  const owned = resources.move();
  return { policy: single ?? teamPolicy(policies), [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
