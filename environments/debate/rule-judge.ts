import { type ArgumentFeatures, argumentValue, formOf, lengthOf } from "./argument-features.ts";
import type { Argument, DebateTopic, Side } from "./debate-topic.ts";
import { isCopy, isSound, type Sentence, sentencesOf } from "./sentence.ts";
import { shared, sharedInOrder, stemsOf, without, wordsOf } from "./words.ts";

/** What the rule-based judge says of one debater. All numbers are from 0 to 1; the README has the formulas. */
export interface RuleVerdict {
  readonly value: number;
  /** What each metric adds to the value. */
  readonly components: Readonly<Record<string, number>>;
  readonly metrics: Readonly<Record<keyof typeof weights, number>>;
  /** One for each argument, in the order they were made. */
  readonly arguments: readonly ArgumentFeatures[];
}

/** What the rule-based judge is given. */
interface RuleJudgement {
  readonly topic: DebateTopic;
  readonly said: readonly Argument[];
  readonly rounds: number;
  /** Whether the arguments of one round were made without hearing each other. */
  readonly simultaneous: boolean;
  readonly minWords: number;
  readonly maxWords: number;
}

/** How much each metric of a debate weighs; the sum is 1. */
const weights = { arguments: 0.6, coverage: 0.2, consistency: 0.1, evidence: 0.1 } as const;

/** Judges one debater by rules. Reads nothing but the arguments and the topic; the same ones give the same verdict. */
export function judgeByRules(agent: string, judgement: RuleJudgement): RuleVerdict {
  const { topic, said, rounds, simultaneous, maxWords } = judgement;
  const known = knownWords(topic);
  const sentences = said.map(({ text }) => (wordsOf(text).length > 2 * maxWords ? [] : sentencesOf(text, known)));
  const side = said.find((argument) => argument.agent === agent)?.side ?? "PRO";
  const own = keyWords(topic, side);
  const other = keyWords(topic, side === "PRO" ? "CON" : "PRO");
  const made = own.map(() => 0);
  const proven = own.map(() => 0);
  const conceded = other.map(() => 0);
  const used = new Set(own.flatMap((words) => [...words]));
  const features: ArgumentFeatures[] = [];
  for (const [index, argument] of said.entries()) {
    if (argument.agent !== agent) continue;
    const heard = said.flatMap((earlier, at) =>
      (simultaneous ? earlier.round < argument.round : at < index) ? [{ ...earlier, sentences: sentences[at]! }] : [],
    );
    const counted = countedSentences(
      sentences[index]!,
      heard.flatMap((earlier) => earlier.sentences),
    );
    const remaining = own.length - sum(made);
    const needed = Math.min(Math.ceil(own.length / rounds), remaining);
    for (const sentence of counted) {
      const point = bestPoint(sentence, own);
      const against = bestPoint(sentence, other);
      if (against.credit > point.credit && !sentence.answers) raise(conceded, against);
      if (isDeveloped(sentence, used)) {
        raise(made, point);
        if (sentence.evidence.length > 0) raise(proven, point);
      }
      for (const word of sentence.own) used.add(word);
    }
    const gained = remaining - (own.length - sum(made));
    const opposing = heard.filter((earlier) => earlier.side !== side).flatMap((earlier) => earlier.sentences);
    features.push({
      points: needed < 1e-9 ? 1 : Math.min(1, gained / needed),
      length: lengthOf(counted, wordsOf(argument.text).length, judgement),
      ...formOf(counted, sentences[index]!.length, opposing),
    });
  }
  const metrics = {
    arguments: mean(features.map(argumentValue)),
    coverage: mean(made),
    consistency: sum(made) === 0 ? 0 : (mean(made) * sum(made)) / (sum(made) + sum(conceded)),
    evidence: mean(proven),
  };
  const names = Object.keys(weights) as (keyof typeof weights)[];
  const components = Object.fromEntries(names.map((name) => [name, weights[name] * metrics[name]]));
  return { value: Math.min(1, sum(Object.values(components))), components, metrics, arguments: features };
}

/** The subject words that every debater is given. */
function knownWords({ proposition, background }: DebateTopic): ReadonlySet<string> {
  return stemsOf(wordsOf(`${proposition} ${background}`));
}

/** The words that tell each key point of a side: its subject words that no debater is given. */
export function keyWords(topic: DebateTopic, side: Side): readonly ReadonlySet<string>[] {
  const known = knownWords(topic);
  return (side === "PRO" ? topic.pro : topic.con).map((point) => without(stemsOf(wordsOf(point)), known));
}

/** The sentences that count: sound, and no copy of what was heard before or stands earlier in the same argument. */
function countedSentences(sentences: readonly Sentence[], heard: readonly Sentence[]): readonly Sentence[] {
  return sentences.filter(
    (sentence, index) =>
      isSound(sentence) &&
      !heard.some((earlier) => isCopy(sentence, earlier)) &&
      !sentences.slice(0, index).some((earlier) => isCopy(sentence, earlier)),
  );
}

interface PointCredit {
  readonly index: number;
  readonly credit: number;
}

/** The one key point that a sentence makes: 6 in 10 of its words make it whole, fewer than 2 not at all. */
function bestPoint({ own }: Sentence, points: readonly ReadonlySet<string>[]): PointCredit {
  let best: PointCredit = { index: 0, credit: 0 };
  const words = [...own];
  const common = points.map((point) => shared(own, point));
  for (const [index, point] of points.entries()) {
    if (common.some((other, at) => at !== index && other >= 2)) continue;
    const said = saidInOrder(words, [...point]);
    const share = said / point.size;
    const credit = said < Math.min(3, point.size) || share < 0.4 ? 0 : share < 2 / 3 ? 0.25 : 1;
    if (credit > best.credit) best = { index, credit };
  }
  return best;
}

/** The most words of a point that a stretch of a sentence has in the point's order, where they are half of it. */
function saidInOrder(words: readonly string[], point: readonly string[]): number {
  const places = words.flatMap((word, at) => (point.includes(word) ? [at] : []));
  let most = 0;
  for (const [count, first] of places.entries()) {
    for (const last of places.slice(count + most)) {
      const stretch = words.slice(first, last + 1);
      const said = sharedInOrder(stretch, point);
      if (2 * said >= stretch.length) most = Math.max(most, said);
    }
  }
  return most;
}

/**
 * A point is developed where its sentence gives a reason or evidence, and 4 words that no key point of the side has and
 * the debater has not used before: points strung together develop none, and the same words tacked on to each one at most.
 */
function isDeveloped({ own, reasons, evidence }: Sentence, used: ReadonlySet<string>): boolean {
  return reasons.length + evidence.length > 0 && without(own, used).size >= 4;
}

function raise(credits: number[], { index, credit }: PointCredit): void {
  credits[index] = Math.max(credits[index]!, credit);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : sum(values) / values.length;
}
