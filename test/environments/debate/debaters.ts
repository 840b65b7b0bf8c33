import type { DebateTopic } from "../../../environments/debate/debate-topic.ts";
import { textOf } from "../../../src/message/message.ts";
import type { ActRequest, Policy } from "../../../src/policy/policy.ts";
import { scriptedPolicy } from "../../../src/policy/scripted-policy.ts";

const reasons = ["because", "since", "therefore", "as a result"];
const elaborations = [
  "according to surveys in several regions where officials asked thousands of witnesses",
  "for instance in a harbour where nurses and bakers kept notes for decades",
  "and in 2019 a careful trial with volunteers found the effect again",
  "for example among farmers whose cousins and grandmothers described it vividly",
  "and a report by engineers and poets called it obvious to patient observers",
  "as statistics from islands, valleys and mountain hamlets confirm every winter",
];

/** Knows the key points: develops those of its side, a share in each round, and answers the other side's last words. */
export function expert(rounds: number): Policy {
  return scriptedPolicy(
    (request) => {
      const { topic, side } = seatOf(request);
      const points = side === "PRO" ? topic.pro : topic.con;
      const share = Math.ceil(points.length / rounds);
      const round = request.messages.filter(({ role }) => role === "assistant").length;
      const offset = side === "PRO" ? 0 : 3;
      const sentences = points.slice(round * share, (round + 1) * share).map((point, index) => {
        const place = round * share + index;
        return `This matters ${reasons[(place + offset) % 4]} ${lower(point)}, ${elaborations[(place + offset) % 6]}.`;
      });
      const heard = /> (.*)$/m.exec(textOf(request.messages.at(-1)!))?.[1];
      const theirs =
        (side === "PRO" ? topic.con : topic.pro)[
          heard === undefined ? 0 : Math.max(0, round - (side === "PRO" ? 1 : 0)) * share
        ] ?? "";
      if (heard !== undefined) sentences.push(answer(theirs, round));
      sentences.push(closings[(round + offset) % closings.length]!);
      return sentences.join(" ");
    },
    { name: "expert" },
  );
}

const closings = [
  "Thus whoever weighs gains against burdens with an open mind will reach the same verdict as we do.",
  "Hence a cautious council that looks at its own village would follow this path without regret.",
  "Consequently the doubts that remain are smaller than the promise which this road holds.",
  "Therefore it is wise to listen to those whose lives are touched by such choices.",
  "It follows that hesitation is the costlier mistake for the generation that comes after ours.",
  "So the burden lies with whoever would keep things as they are, due to the harm already seen.",
];

function answer(point: string, round: number): string {
  const words = point
    .split(" ")
    .filter((word) => word.length > 4)
    .slice(-2)
    .join(" and ");
  return round === 0
    ? `However, what the opponent says of ${words.replace(/[.,]/g, "")} is a detail that clever planning and modest patience would remove.`
    : `Even if ${words.replace(/[.,]/g, "")} worry the other side, a gradual beginning with honest measurement calms such fears.`;
}

function lower(point: string): string {
  return point.slice(0, 1).toLowerCase() + point.slice(1).replace(/\.$/, "");
}

function seatOf(request: ActRequest): { readonly topic: DebateTopic; readonly side: "PRO" | "CON" } {
  const side = /Your side is (PRO|CON)/.exec(textOf(request.messages[0]!))![1] as "PRO" | "CON";
  return { topic: request.episode!.task.task as DebateTopic, side };
}
