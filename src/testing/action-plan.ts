import * as fc from "fast-check";
import type { Action, AgentId } from "../contract/action.ts";
import type { EnvironmentDefinition, Observations } from "../contract/environment.ts";
import type { Json } from "../contract/json.ts";
import { type Message, type ToolCall, textMessage } from "../contract/message.ts";
import { demonstratedMessage } from "../core/policy/demonstration-policy.ts";

/**
 * The actions of the agents in the order in which agents must act. The list is repeated if it is too short. Never
 * empty.
 */
export type ActionPlan = readonly Action[];

const nothingSaid: Action = { message: textMessage("assistant", ""), finish: "stop" };

const oddities = [
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
  "```\n```",
  "</answer>",
];

/**
 * Generates plans of arbitrary actions: noise, empty answers, numbers, unusual characters, long texts, an expert's
 * answers (at any time), tool calls, parse errors and truncated answers. Shrinks towards one empty answer.
 */
export function actionPlans<Task>(environment: EnvironmentDefinition<Task>, task: Task): fc.Arbitrary<ActionPlan> {
  const { agents, maxTurns, tools = [] } = environment.spec;
  const expert = demonstratedMessages(environment, task);
  const long = fc.tuple(fc.constantFrom("x", "9", "(", " "), fc.integer({ min: 1, max: 4_000 }));
  const text = fc.oneof(
    { withCrossShrink: true },
    { weight: 3, arbitrary: fc.string({ maxLength: 40 }) },
    { weight: 1, arbitrary: fc.integer({ min: -1_000, max: 1_000 }).map(String) },
    { weight: 1, arbitrary: fc.constantFrom(...oddities) },
    { weight: 1, arbitrary: long.map(([letter, length]) => letter.repeat(length)) },
  );
  const message = fc.oneof(
    { withCrossShrink: true },
    { weight: 6, arbitrary: text.map((words) => textMessage("assistant", words)) },
    { weight: 1, arbitrary: fc.constant<Message>({ role: "assistant", content: [] }) },
    ...(expert.length === 0 ? [] : [{ weight: 3, arbitrary: fc.constantFrom(...expert) }]),
  );
  const call: fc.Arbitrary<ToolCall> = fc
    .tuple(
      fc.constantFrom("call-1", "call-2"),
      fc.constantFrom(...tools.map(({ name }) => name), "no-such-tool"),
      fc.constantFrom<Json[]>({}, null, [], "x", 1),
    )
    .map(([id, name, args]) => ({ id, name, arguments: args }));
  const ending = fc.oneof(
    { withCrossShrink: true },
    { weight: 5, arbitrary: fc.constant((said: Message): Action => ({ message: said, finish: "stop" })) },
    { weight: 1, arbitrary: fc.constant((said: Message): Action => ({ message: said, finish: "length" })) },
    { weight: 1, arbitrary: fc.constant(unparsed) },
    {
      weight: 1,
      arbitrary: fc.tuple(call, fc.array(call, { maxLength: 2 })).map(([first, more]) => {
        const toolCalls = [first, ...more];
        return (said: Message): Action => ({ message: { ...said, toolCalls }, finish: "tool-calls" });
      }),
    },
  );
  // Message and ending are independent, so that each can shrink by itself.
  const action = fc.tuple(message, ending).map(([said, end]) => end(said));
  // An array that may be empty shrinks from both ends. A nonempty one shrinks only at its start.
  const plans = fc.array(action, { maxLength: Math.min(8, maxTurns * agents.length) });
  return plans.map((plan) => (plan.length === 0 ? [nothingSaid] : plan));
}

function unparsed(message: Message): Action {
  return { message, finish: "stop", parseErrors: [{ message: "Unexpected end", text: "{" }] };
}

/** Returns the plan's actions for all observed agents, after the first `acted` actions were used. */
export function plannedActions(plan: ActionPlan, observations: Observations, acted: number): Record<AgentId, Action> {
  return Object.fromEntries(
    Object.keys(observations).map((agent, place) => [agent, plan[(acted + place) % plan.length]!]),
  );
}

/** Returns an expert's messages. Returns none if its function throws, which a rule reports. */
function demonstratedMessages<Task>(environment: EnvironmentDefinition<Task>, task: Task): readonly Message[] {
  try {
    return (environment.demonstrate?.(task) ?? []).flatMap((turn) => Object.values(turn).map(demonstratedMessage));
  } catch {
    return [];
  }
}
