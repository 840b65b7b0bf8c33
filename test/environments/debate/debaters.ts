import type { DebateTopic } from "../../../environments/debate/debate-topic.ts";
import { expertArgument } from "../../../environments/debate/demonstration.ts";
import { textOf } from "../../../src/contract/message.ts";
import type { ActRequest, Policy } from "../../../src/contract/policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";

/**
 * Knows the key points. Develops those of its side with reasons and evidence, a share in each round, and answers the
 * last key point of the other side. For three key points per side and up to three rounds.
 */
export function expert(rounds: number): Policy {
  return scriptedPolicy(
    (request) => {
      const { topic, side } = seatOf(request);
      const round = request.messages.filter(({ role }) => role === "assistant").length;
      return expertArgument({ topic, side, round, rounds, heard: textOf(request.messages.at(-1)!) })!;
    },
    { name: "expert" },
  );
}

function seatOf(request: ActRequest): { readonly topic: DebateTopic; readonly side: "PRO" | "CON" } {
  const side = /Your side is (PRO|CON)/.exec(textOf(request.messages[0]!))![1] as "PRO" | "CON";
  return { topic: request.episode!.task.task as DebateTopic, side };
}
