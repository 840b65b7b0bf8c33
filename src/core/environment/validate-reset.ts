import { describeValue } from "../../contract/describe-value.ts";
import { unknownAgent, unknownKey } from "./unknown-key.ts";
import { isBlankPrompt, promptProblem, type ReturnProblem } from "./validate-prompt.ts";

const singleRule = "Return the first prompt: a text, or { prompt, state }.";

/** Returns why a value is not a valid result of a single agent's `reset`, if it is not. */
export function resetProblem(outcome: unknown): ReturnProblem | undefined {
  if (typeof outcome !== "object" || outcome === null || Array.isArray(outcome)) {
    return typeof outcome === "string" || Array.isArray(outcome) ? firstPrompt(outcome, "from reset") : whole(outcome);
  }
  if ("role" in outcome || "content" in outcome) return firstPrompt(outcome, "from reset");
  const unknown = unknownKey(outcome, ["prompt", "state"]);
  if (unknown !== undefined) return { problem: `returned ${unknown.found} from reset`, rule: unknown.rule(singleRule) };
  if (!("prompt" in outcome)) return whole(outcome);
  return firstPrompt(outcome.prompt, "as prompt from reset");
}

/** Returns why a value is not a valid result of several agents' `reset`, if it is not. */
export function parallelResetProblem(
  outcome: unknown,
  { agents }: { readonly agents: readonly string[] },
): ReturnProblem | undefined {
  const rule = `Return a prompt for each agent that acts first: { ${agents.slice(0, 3).join(", ")} }, or { prompts, state }.`;
  if (typeof outcome !== "object" || outcome === null || Array.isArray(outcome)) {
    return { problem: `returned ${describeValue(outcome)} from reset`, rule };
  }
  const prompts: unknown = "prompts" in outcome && "state" in outcome ? outcome.prompts : outcome;
  if (typeof prompts !== "object" || prompts === null || Array.isArray(prompts)) {
    return { problem: `returned ${describeValue(prompts)} as prompts from reset`, rule };
  }
  const given = Object.entries(prompts).filter(([, prompt]) => prompt !== undefined);
  if (given.length === 0) return { problem: "returned no prompt from reset", rule };
  for (const [agent, prompt] of given) {
    if (!agents.includes(agent)) return unknownAgent(agent, { agents, call: "reset" });
    const found = firstPrompt(prompt, `for agent "${agent}" from reset`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function whole(outcome: unknown): ReturnProblem {
  const forgotten = outcome === undefined ? "Is a return missing? " : "";
  return { problem: `returned ${describeValue(outcome)} from reset`, rule: `${forgotten}${singleRule}` };
}

function firstPrompt(prompt: unknown, what: string): ReturnProblem | undefined {
  const found = promptProblem(prompt, what);
  if (found !== undefined) return found;
  if (!isBlankPrompt(prompt)) return undefined;
  return { problem: `returned an empty prompt ${what}`, rule: "State the task in the first prompt." };
}
