import type { Action, AgentId, EnvironmentSpec, Observations } from "../environment/environment.ts";
import { textMessage } from "../message/message.ts";
import { createRandom, deriveSeed, type Random } from "../random/random.ts";

const alphabet = [..."0123456789 abcxyz+-*/().,?\n{}[]<>\"'\\$"];
const oddities = [
  "",
  " ",
  "\n\n",
  "\u0000",
  "\u{1F600}é漢字\u200Bעب",
  "\uD800",
  "__proto__",
  "{}",
  "null",
  "NaN",
  "-1e999",
];

/** Any one action: noise, nothing, odd characters, a long text, tool calls, parse errors, one cut at its length. */
function randomAction(random: Random, spec: EnvironmentSpec): Action {
  const kind = random.integer(0, 7);
  if (kind === 0) return { message: textMessage("assistant", random.pick(oddities)), finish: "stop" };
  if (kind === 1) return { message: textMessage("assistant", noise(random, 4_000)), finish: "length" };
  const message = textMessage("assistant", noise(random, random.integer(0, 40)));
  if (kind === 2) return { message: { role: "assistant", content: [] }, finish: "stop" };
  if (kind === 3) {
    const name = random.pick([...(spec.tools ?? []).map((tool) => tool.name), "no-such-tool"]);
    const toolCalls = [{ id: `call-${random.integer(0, 9)}`, name, arguments: random.pick([null, {}, [], "x", 1]) }];
    return { message: { ...message, toolCalls }, finish: "tool-calls" };
  }
  if (kind === 4) return { message, finish: "stop", parseErrors: [{ message: "Unexpected end", text: "{" }] };
  return { message, finish: "stop" };
}

/** An action for everyone who is observed, the same for the same seed and turn. */
export function randomActions(
  observations: Observations,
  options: { readonly spec: EnvironmentSpec; readonly seed: number; readonly turn: number },
): Record<AgentId, Action> {
  const { spec, seed, turn } = options;
  const acting = Object.keys(observations);
  return Object.fromEntries(
    acting.map((agent) => [agent, randomAction(createRandom(deriveSeed(seed, "act", agent, turn)), spec)]),
  );
}

function noise(random: Random, length: number): string {
  return Array.from({ length }, () => random.pick(alphabet)).join("");
}
