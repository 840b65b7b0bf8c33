import { describeValue, isPromise } from "../../contract/describe-value.ts";
import { isReward, type Reward, rewardText } from "../../contract/reward.ts";
import type { StepOutcome } from "./define-environment.ts";
import type { ParallelStepOutcome } from "./define-parallel-environment.ts";
import { unknownAgent, unknownKey } from "./unknown-key.ts";
import { promptProblem, type ReturnProblem } from "./validate-prompt.ts";

const sharedKeys = {
  reward: true,
  components: true,
  context: true,
  done: true,
  state: true,
  correct: true,
  info: true,
} as const;
const singleKeys = Object.keys({ ...sharedKeys, reply: true } satisfies Record<keyof StepOutcome<unknown>, true>);
const parallelKeys = Object.keys({ ...sharedKeys, rewards: true, replies: true } satisfies Record<
  keyof ParallelStepOutcome<string, unknown>,
  true
>);

/** The part of a definition that decides which step results are valid. */
interface StepRules {
  readonly statesCorrect?: boolean;
}

/** Returns why a value is not a valid result of a single agent's `step`, if it is not. */
export function stepProblem(outcome: unknown, rules: StepRules): ReturnProblem | undefined {
  return (
    outcomeProblem(outcome, singleKeys, rules) ??
    promptsProblem({ agent: (outcome as StepOutcome<unknown>).reply }, () => "as reply from step")
  );
}

/** Returns why a value is not a valid result of several agents' `step`, if it is not. */
export function parallelStepProblem(
  outcome: unknown,
  { agents, ...rules }: StepRules & { readonly agents: readonly string[] },
): ReturnProblem | undefined {
  const found = outcomeProblem(outcome, parallelKeys, rules);
  if (found !== undefined) return found;
  const { rewards, replies } = outcome as Partial<Record<string, unknown>>;
  for (const [key, value] of Object.entries({ rewards, replies })) {
    if (value === undefined) continue;
    if (typeof value === "object" && value !== null && !Array.isArray(value) && !isPromise(value)) {
      const stranger = Object.keys(value).find((agent) => !agents.includes(agent));
      if (stranger !== undefined) return unknownAgent(stranger, { agents, call: "step" });
      continue;
    }
    const rule = `Give them by the names of agents: ${key}: { ${agents.map((agent) => `${agent}: ...`).join(", ")} }.`;
    return { problem: `returned ${describeValue(value)} as ${key} from step`, rule };
  }
  for (const [agent, reward] of Object.entries(rewards ?? {})) {
    const problem = rewardProblem(reward, `as reward of agent "${agent}"`);
    if (problem !== undefined) return problem;
  }
  return promptsProblem(replies ?? {}, (agent) => `as reply to agent "${agent}" from step`);
}

function outcomeProblem(
  outcome: unknown,
  keys: readonly string[],
  { statesCorrect }: StepRules,
): ReturnProblem | undefined {
  const reply = keys.includes("reply") ? "reply" : "replies";
  const rule = `A step returns an object: { reward } at the end, { ${reply} } to go on. Its keys: ${keys.join(", ")}.`;
  if (typeof outcome !== "object" || outcome === null || Array.isArray(outcome)) {
    const instead =
      typeof outcome === "number" ? `Return { reward: ${outcome} } instead. ` : outcome === undefined ? missing : "";
    return { problem: `returned ${describeValue(outcome)} from step`, rule: `${instead}${rule}` };
  }
  const unknown = unknownKey(outcome, keys);
  if (unknown !== undefined) return { problem: `returned ${unknown.found} from step`, rule: unknown.rule(rule) };
  const { reward, components, done, context, correct, ...replies } = outcome as Partial<Record<string, unknown>>;
  const wrong = (key: string, value: unknown, what: string): ReturnProblem => ({
    problem: `returned ${describeValue(value)} as ${key} from step`,
    rule: `${key} is ${what}.${isPromise(value) ? awaited(key) : ""}`,
  });
  if (done !== undefined && typeof done !== "boolean") return wrong("done", done, "true or false");
  if (correct !== undefined && typeof correct !== "boolean") return wrong("correct", correct, "true or false");
  if (correct !== undefined && statesCorrect !== true) {
    const problem = "returned correct from step without statesCorrect in its definition";
    return { problem, rule: "Set statesCorrect: true." };
  }
  if (done === false && replies[reply] === undefined) {
    return { problem: "returned done: false from step without a reply", rule: "Return a reply, or omit done." };
  }
  if (context !== undefined && context !== "append" && context !== "replace") {
    return wrong("context", context, '"append" or "replace"');
  }
  return rewardProblem(reward, "as reward") ?? componentsProblem(components);
}

const missing = "Is a return missing? ";

function awaited(key: string): string {
  return ` Await it: ${key}: await ...`;
}

function rewardProblem(reward: unknown, what: string): ReturnProblem | undefined {
  if (reward === undefined) return undefined;
  const isGood = typeof reward === "number" ? Number.isFinite(reward) : isWholeReward(reward);
  if (isGood) return undefined;
  const rule = "A reward is a finite number, scored(value, components), or unscored(reason) if judging failed.";
  return {
    problem: `returned ${rewardText(reward)} ${what} from step`,
    rule: `${rule}${isPromise(reward) ? awaited("reward") : ""}`,
    isNotFinite: typeof reward === "number",
  };
}

function componentsProblem(components: unknown): ReturnProblem | undefined {
  if (components === undefined) return undefined;
  const rule = "components is an object of finite numbers by name, such as { correct: 1, format: 0.1 }.";
  if (typeof components !== "object" || components === null || Array.isArray(components) || isPromise(components)) {
    return { problem: `returned ${describeValue(components)} as components from step`, rule };
  }
  for (const [name, value] of Object.entries(components)) {
    if (typeof value === "number" && Number.isFinite(value)) continue;
    const hint = isPromise(value) ? `${rule}${awaited(name)}` : rule;
    const problem = `returned ${describeValue(value)} as component "${name}" from step`;
    return { problem, rule: hint, isNotFinite: typeof value === "number" };
  }
  return undefined;
}

function promptsProblem(prompts: object, what: (agent: string) => string): ReturnProblem | undefined {
  for (const [agent, prompt] of Object.entries(prompts)) {
    if (prompt === undefined) continue;
    const found = promptProblem(prompt, what(agent));
    if (found !== undefined) return found;
  }
  return undefined;
}

function isWholeReward(reward: unknown): boolean {
  return typeof reward === "object" && reward !== null && isReward(reward as Reward);
}
