import type { Action } from "../../contract/action.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import { type Message, type PartType, textMessage } from "../../contract/message.ts";
import type { ActRequest, Policy } from "../../contract/policy.ts";
import { withoutInlineReasoning } from "../tokens/split-reasoning.ts";

/** An answer of a script: a text, a message, or a whole action. */
export type ScriptedAnswer = string | Message | Action;

/**
 * Creates a policy that answers from a script. A list contains the answers of turns 0, 1, ... for every task and agent.
 * A function computes the answer. Rejects with `policy.failed` if the list is too short. It returns no tokens.
 *
 * @example
 * import { scriptedPolicy, textOf } from "lyceum";
 * const twoTurns = scriptedPolicy(["5", "7"], { name: "fixed" });
 * const seeded = scriptedPolicy(({ seed }) => String(seed % 10));
 * const sampling = { temperature: 1, maxTokens: 8 };
 * const { action } = await seeded.act({ agent: "agent", messages: [], sampling, seed: 24 });
 * textOf(action.message); // => "4"
 * twoTurns.name; // => "fixed"
 */
export function scriptedPolicy(
  script: readonly ScriptedAnswer[] | ((request: ActRequest) => ScriptedAnswer | Promise<ScriptedAnswer>),
  options: { readonly name?: string; readonly accepts?: readonly PartType[] } = {},
): Policy {
  const answer = typeof script === "function" ? script : (request: ActRequest) => listed(script, request);
  return {
    specificationVersion: "v1",
    name: options.name ?? "scripted",
    accepts: options.accepts ?? ["text", "reasoning", "image"],
    act: async (request) => {
      request.signal?.throwIfAborted();
      return withoutInlineReasoning({ action: toAction(await answer(request)) });
    },
  };
}

function listed(script: readonly ScriptedAnswer[], request: ActRequest): ScriptedAnswer {
  const turn = request.episode?.turn ?? request.messages.filter(({ role }) => role === "assistant").length;
  const answer = script[turn];
  if (answer !== undefined) return answer;
  throw new LyceumError({
    code: "policy.failed",
    message: `The script has ${script.length} answers, but none for turn ${turn} (counted from 0).`,
    hint: "Add an answer for every turn, or use a function.",
  });
}

function toAction(answer: ScriptedAnswer): Action {
  if (typeof answer === "string") return { message: textMessage("assistant", answer), finish: "stop" };
  return "message" in answer ? answer : { message: answer, finish: "stop" };
}
