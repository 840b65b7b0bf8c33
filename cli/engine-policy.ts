import { existsSync } from "node:fs";
import { z } from "zod";
import { invalidConfig, type LyceumError } from "../src/contract/errors/index.ts";
import type { Policy } from "../src/contract/policy.ts";
import { definePolicy, type PolicyContext, type PolicyDefinition } from "../src/core/policy/define-policy.ts";
import { hostedModelError } from "../src/core/policy/hosted-model.ts";
import { teamPolicy } from "../src/core/policy/team-policy.ts";
import { withoutUrlSecrets } from "../src/core/text/secrets.ts";
import { templateVariablesSchema } from "../src/core/tokens/template-variables.ts";
import { createTextRenderer } from "../src/core/tokens/text-renderer.ts";
import type { Model } from "../trainers/backend/training-backend.ts";
import { openModels } from "../trainers/models/open-models.ts";
import { openModelPolicy } from "../trainers/models/open-policy.ts";
import { oneModelError, type TeamAgents } from "../trainers/models/team-agents.ts";
import type { SharedEngine } from "./shared-engine.ts";

/** What a local model is opened from, besides its options. */
export interface EnginePolicyContext extends PolicyContext {
  /** The engine for local models. */
  readonly engine: SharedEngine;
  /** The agents that it plays, for models by agent. Absent for a single policy, such as a judge. */
  readonly agents?: TeamAgents | undefined;
}

const text = z.string().min(1);

function incompletePath(path: string): LyceumError {
  return invalidConfig(
    `${path} is a path on a Tinker server, and needs the address of the server and a base model.`,
    "Add --backend-url URL, and --base MODEL: a local copy or hub id of the base model, whose tokenizer is used.",
    { path },
  );
}

/**
 * Policies on the embedded engine, from everything that `openModels` supports. In a team, or in a checkpoint with the
 * weights of several agents, each agent plays with its own weights. Opening throws `config.invalid` if such a model is
 * used without agents, for example as a judge.
 */
export const engineDefinition: PolicyDefinition<z.ZodObject, EnginePolicyContext> = definePolicy({
  id: "engine",
  description: "A local model: the folder of a model, an adapter, a checkpoint or a run, or a hub id.",
  address: "PATH",
  options: z.object({
    base: text.optional().describe("The base model of an adapter, instead of the one that the adapter names."),
    chatTemplate: text
      .optional()
      .describe("A Jinja file that replaces the model's chat template, or none for plain text prompts."),
    templateVariables: templateVariablesSchema
      .optional()
      .describe("Variables of the chat template, such as enable_thinking: false."),
    revision: text.optional().describe("The branch, tag or commit of a hub id."),
    backendUrl: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe("The address of a Tinker server that samples the model, instead of the engine on this machine."),
    backendModel: text.optional().describe("The server's name of the base model, if it differs from the path."),
  }),
  open: async ({ base, revision, backendUrl, backendModel, ...template }, context: EnginePolicyContext) => {
    const { address: path, name = withoutUrlSecrets(path), engine, agents, completion = false, signal } = context;
    const hosted = existsSync(path) ? undefined : hostedModelError(path);
    if (hosted !== undefined) throw hosted;
    const weights = path.startsWith("tinker://") ? path : undefined;
    if (weights !== undefined && (backendUrl === undefined || base === undefined)) throw incompletePath(weights);
    const remote = backendUrl === undefined ? undefined : { url: backendUrl, model: backendModel, weights };
    const backend = await (remote === undefined ? engine.backend() : engine.remote({ ...remote, signal }));
    await using resources = new AsyncDisposableStack();
    const models = await openModels(weights === undefined ? path : base!, {
      backend,
      base: weights === undefined ? base : undefined,
      revision,
      agents,
      signal,
      // Completion prompts are for base models, which have no template.
      ...(completion ? { chatTemplate: "none" } : template),
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
    return { ...(single ?? teamPolicy(policies)), close: () => owned.disposeAsync() };
  },
});
