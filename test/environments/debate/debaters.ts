import type { DebateTopic } from "../../../environments/debate/debate-topic.ts";
import { textOf } from "../../../src/message/message.ts";
import type { ActRequest, Policy } from "../../../src/policy/policy.ts";
import { scriptedPolicy } from "../../../src/policy/scripted-policy.ts";

const openings = ["because", "since", "as a result", "consequently", "due to this:", "therefore"] as const;

const elaborations = [
  "according to surveys in 12 regions where officials asked witnesses",
  "for instance in a harbour whose nurses kept 30 diaries for decades",
  "and in 2019 a careful trial with volunteers found the effect again",
  "for example among cousins and grandmothers, half of whom described it vividly",
  "and a report by 40 engineers called it obvious to patient observers",
  "as statistics from islands and mountain hamlets confirm, for example in winter",
] as const;

const closings = [
  "Thus whoever weighs gains against burdens with an open mind will reach the same verdict as we do.",
  "Hence a cautious council that looks at its own village would follow this path without regret.",
  "This means the doubts that remain are smaller than the promise which this road holds.",
  "It follows that hesitation is the costlier mistake for the generation that comes after ours.",
  "Thus it is wise to listen to those whose lives are touched by such choices.",
  "Hence the burden lies with whoever would rather keep things as they always were before.",
] as const;

const answers = [
  "is a detail that clever planning and modest patience would remove",
  "may be overcome where mayors and tutors begin gradually and stay humble",
  "was an honourable worry once, but practical remedies exist for any honest doubter",
  "sounds grave, yet it fades when sceptics examine how gently it begins",
  "need not frighten anybody who prepares thoroughly and corrects errors early",
  "deserves respect and a calm compromise rather than a blunt refusal",
] as const;

/**
 * Knows the key points: develops those of its side with reasons and evidence, a share in each round, and answers the
 * key point that the other side made last. Good for debates of three key points a side and up to three rounds.
 */
export function expert(rounds: number): Policy {
  return scriptedPolicy(
    (request) => {
      const { topic, side } = seatOf(request);
      const own = side === "PRO" ? topic.pro : topic.con;
      const share = Math.ceil(own.length / rounds);
      const round = request.messages.filter(({ role }) => role === "assistant").length;
      const offset = side === "PRO" ? 0 : 3;
      const sentences = own.slice(round * share, (round + 1) * share).map((point, index) => {
        const place = (round * share + index + offset) % 6;
        return `It matters ${openings[place]} ${uncapital(point)}, ${elaborations[place]}.`;
      });
      const heard = textOf(request.messages.at(-1)!);
      const made = [...topic.pro, ...topic.con].find((point) => heard.includes(uncapital(point)));
      if (made !== undefined) {
        sentences.push(
          `However, the claim that ${uncapital(made).split(" ").slice(0, 5).join(" ")} ${answers[round + offset]}.`,
        );
      }
      sentences.push(closings[round + offset]!);
      return sentences.join(" ");
    },
    { name: "expert" },
  );
}

function uncapital(point: string): string {
  return point.slice(0, 1).toLowerCase() + point.slice(1).replace(/\.$/, "");
}

function seatOf(request: ActRequest): { readonly topic: DebateTopic; readonly side: "PRO" | "CON" } {
  const side = /Your side is (PRO|CON)/.exec(textOf(request.messages[0]!))![1] as "PRO" | "CON";
  return { topic: request.episode!.task.task as DebateTopic, side };
}
