import { existsSync } from "node:fs";
import type { AgentId } from "../src/contract/action.ts";
import { LyceumError } from "../src/contract/errors/index.ts";
import { type PolicySettings, readPolicySettings, readSettings } from "./policy-settings.ts";

/** The arguments of a command line about the models that play. */
export interface ModelArguments {
  /** One name, or `AGENT=NAME` for each agent. */
  readonly model: readonly string[];
  /** The options of the model as `key=value`, in order. */
  readonly modelOption?: readonly string[];
  /** The base model of adapters. */
  readonly base?: string | undefined;
  /** The address of a Tinker server that samples local models. */
  readonly backendUrl?: string | undefined;
}

/**
 * Returns the settings of the models that a command line names: one for every agent, or one per agent with
 * `AGENT=NAME`. Throws the errors of {@link readPolicySettings}, and `config.invalid` for several models that do not
 * each name an agent, for an agent without a model, and for the URL of a file.
 */
export async function modelSettings({ model, modelOption = [], ...more }: ModelArguments): Promise<PolicySettings> {
  const { base, backendUrl } = more;
  const given = Object.entries({ base, backendUrl }).filter(([, value]) => value !== undefined);
  const options = [...modelOption, ...given.map(([key, value]) => `${key}=${JSON.stringify(value)}`)];
  for (const text of model) refuseIncomplete(text);
  const byAgent = model.map(agentModel);
  if (model.length === 1 && byAgent[0] === undefined) return readPolicySettings(model[0]!, options);
  const agents: Record<AgentId, string> = {};
  for (const [index, named] of byAgent.entries()) {
    if (named !== undefined && !Object.hasOwn(agents, named.agent)) agents[named.agent] = named.model;
    else {
      throw new LyceumError({
        code: "config.invalid",
        message:
          named === undefined
            ? `--model ${model[index]} names no agent, but there are several models.`
            : `The agent "${named.agent}" has two models.`,
        hint: "Name one model, or a model for each agent: --model aux=MODEL --model main=MODEL.",
      });
    }
  }
  return readSettings({ text: JSON.stringify({ agents }), name: "--model" }, options);
}

/** Throws `config.invalid` for `AGENT=` without a model, `=MODEL` without an agent, and the URL of a file. */
function refuseIncomplete(text: string): void {
  const lacks = /^[^=/\\:#]*=\s*$/.test(text) ? "model" : /^\s*=/.test(text) ? "agent" : undefined;
  const isFileUrl = /^(?:[^=/\\:#]+=)?file:/i.test(text);
  if ((lacks === undefined && !isFileUrl) || existsSync(text)) return;
  throw new LyceumError({
    code: "config.invalid",
    message: isFileUrl ? `--model ${text} is the URL of a file.` : `--model ${text} names no ${lacks}.`,
    hint: isFileUrl
      ? "Name the folder or the file by its path, such as ./model."
      : "Name one model, or a model for each agent: --model aux=MODEL --model main=MODEL. In a shell, the variable may not be set.",
  });
}

/** Splits `AGENT=MODEL`. Returns undefined for the name of a model, which can contain `=` after a slash or a colon. */
function agentModel(text: string): { readonly agent: AgentId; readonly model: string } | undefined {
  const match = /^([^=/\\:#]+)=(.+)$/.exec(text);
  return match === null || existsSync(text) ? undefined : { agent: match[1]!, model: match[2]! };
}
