import type { DebateTopic, Side } from "./debate-topic.ts";

/** An expert's sentences around each key point, first those of PRO, then those of CON. The evidence is invented. */
const developments: readonly ((point: string) => string)[] = [
  (point) => `It matters because ${point}, as surveys in 12 regions confirm where officials asked many witnesses.`,
  (point) => `Since ${point}, for instance in harbours whose nurses kept 30 diaries for decades, the gain is plain.`,
  (point) => `It follows that ${point}, and in 2019 a careful trial with volunteers found the effect again.`,
  (point) => `The burden is real because ${point}, according to a report by 40 engineers who are patient observers.`,
  (point) =>
    `Since ${point}, for example among cousins and grandmothers, half of whom live in hamlets, the promise is hollow.`,
  (point) => `This means that ${point}, as statistics from several islands show, for example in winter.`,
];

const answers = [
  "is a detail that clever planning and modest patience would remove",
  "may be overcome where mayors and tutors begin gradually and stay humble",
  "was an honourable worry once, but practical remedies exist for any honest doubter",
  "sounds grave, yet it fades when sceptics examine how gently it begins",
  "need not frighten anybody who prepares thoroughly and corrects errors early",
  "deserves respect and a calm compromise rather than a blunt refusal",
] as const;

const closings = [
  "Thus whoever weighs gains against losses with an open mind will reach the same verdict as we do.",
  "Hence a cautious council that looks at its own village would follow this path without regret.",
  "This means the doubts that remain are smaller than the hope which this road holds.",
  "Thus hesitation is not the costlier mistake for the generation that comes after us and has to pay.",
  "Thus it is wise to listen to those whose days are touched by such choices.",
  "Hence the duty to persuade lies with whoever would rather change things as they always were before.",
] as const;

/** The maximum number of rounds, and of key points per side, that the built-in sentences cover. */
const most = 3;

/**
 * Returns an expert's argument in a round: its share of the key points, each with a reason and evidence, an answer to
 * the first key point of the other side in `heard`, and a closing sentence. Returns undefined for more than three
 * rounds or three key points per side. The evidence is invented. It shows the form of an argument and states no facts.
 */
export function expertArgument(options: {
  readonly topic: DebateTopic;
  readonly side: Side;
  readonly round: number;
  readonly rounds: number;
  /** The other side's last argument. */
  readonly heard: string;
}): string | undefined {
  const { topic, side, round, rounds, heard } = options;
  const [own, others] = side === "PRO" ? [topic.pro, topic.con] : [topic.con, topic.pro];
  if (rounds > most || own.length > most) return undefined;
  const offset = side === "PRO" ? 0 : most;
  const share = Math.ceil(own.length / rounds);
  const sentences = own
    .slice(round * share, (round + 1) * share)
    .map((point, index) => developments[offset + round * share + index]!(inSentence(point)));
  const made = others.find((point) => heard.includes(inSentence(point)));
  if (made !== undefined) {
    const claim = inSentence(made).split(" ").slice(0, 5).join(" ");
    sentences.push(`However, the claim that ${claim} ${answers[offset + round]}.`);
  }
  return [...sentences, closings[offset + round]!].join(" ");
}

/**
 * Returns a complete debate of two experts, one record per turn. Returns undefined if {@link expertArgument} does, for
 * more rounds or key points than the built-in sentences cover.
 */
export function demonstration(options: {
  readonly topic: DebateTopic;
  /** The debaters, in speaking order. */
  readonly speakers: readonly { readonly agent: string; readonly side: Side }[];
  readonly rounds: number;
  readonly order: "turns" | "simultaneous";
}): readonly Readonly<Record<string, string>>[] | undefined {
  const { topic, speakers, rounds, order } = options;
  const turns: Readonly<Record<string, string>>[] = [];
  const last = new Map<string, string>();
  for (let round = 0; round < rounds; round++) {
    const before = new Map(last);
    for (const { agent, side } of speakers) {
      const heard = order === "turns" ? last : before;
      const other = speakers.find((speaker) => speaker.agent !== agent)!.agent;
      const text = expertArgument({ topic, side, round, rounds, heard: heard.get(other) ?? "" });
      if (text === undefined) return undefined;
      last.set(agent, text);
      if (order === "turns") turns.push({ [agent]: text });
    }
    if (order === "simultaneous") turns.push(Object.fromEntries(last));
  }
  return turns;
}

function inSentence(point: string): string {
  return point.slice(0, 1).toLowerCase() + point.slice(1).replace(/\.$/, "");
}
