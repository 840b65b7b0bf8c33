import { existsSync } from "node:fs";
import type { AgentId } from "../contract/action.ts";
import { LyceumError } from "../contract/errors/index.ts";
import { type PolicySettings, readPolicySettings, readSettings } from "./policy-settings.ts";

/** What a command line says of the models that play. */
export interface ModelArguments {
  /** One name, or `AGENT=NAME` for each agent. */
  readonly model: readonly string[];
  /** `key=value` options of the model, in order. */
  readonly modelOption?: readonly string[];
  /** The model under adapters. */
  readonly base?: string | undefined;
}

/**
 * The settings of the models that a command line names: one for every agent, or one for each by `AGENT=NAME`. Throws as
 * {@link readPolicySettings} does, and `config.invalid` for several models that do not each name an agent.
 */
export async function modelSettings({ model, modelOption = [], base }: ModelArguments): Promise<PolicySettings> {
  const based = base === undefined ? modelOption : [...modelOption, `base=${JSON.stringify(base)}`];
  const byAgent = model.map(agentModel);
  if (model.length === 1 && byAgent[0] === undefined) return readPolicySettings(model[0]!, based);
  const agents: Record<AgentId, string> = {};
  for (const [index, named] of byAgent.entries()) {
    if (named !== undefined && !Object.hasOwn(agents, named.agent)) agents[named.agent] = named.model;
    else {
      throw new LyceumError({
        code: "config.invalid",
        message:
          named === undefined
            ? `--model ${model[index]} names no agent, and there are several models.`
            : `The agent "${named.agent}" has two models.`,
        hint: "Name one model, or a model for each agent: --model aux=MODEL --model main=MODEL.",
      });
    }
  }
  return readSettings({ text: JSON.stringify({ agents }), name: "--model" }, based);
}

/** `AGENT=MODEL` as its parts; undefined for the name of a model, which may hold `=` behind a slash or a colon. */
function agentModel(text: string): { readonly agent: AgentId; readonly model: string } | undefined {
  const match = /^([^=/\\:#]+)=(.+)$/.exec(text);
  return match === null || existsSync(text) ? undefined : { agent: match[1]!, model: match[2]! };
}
