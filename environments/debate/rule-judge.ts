import { type ArgumentFeatures, argumentValue, formOf, lengthOf } from "./argument-features.ts";
import type { Argument, DebateTopic, Side } from "./debate-topic.ts";
import { isCopy, isSound, type Sentence, sentencesOf } from "./sentence.ts";
import { shared, sharedInOrder, stemsOf, without, wordsOf } from "./words.ts";

/** The rule-based judge's verdict on one debater. All numbers are from 0 to 1. The README has the formulas. */
export interface RuleVerdict {
  readonly value: number;
  /** The contribution of each metric to the value. */
  readonly components: Readonly<Record<string, number>>;
  readonly metrics: Readonly<Record<keyof typeof weights, number>>;
  /** One entry per argument, in order. */
  readonly arguments: readonly ArgumentFeatures[];
}

/** The input of the rule-based judge. */
interface RuleJudgement {
  readonly topic: DebateTopic;
  readonly said: readonly Argument[];
  readonly rounds: number;
  /** True if debaters do not read the other arguments of the same round. */
  readonly simultaneous: boolean;
  readonly minWords: number;
  readonly maxWords: number;
}

/** The weights of a debate's metrics. Their sum is 1. */
const weights = { arguments: 0.6, coverage: 0.2, consistency: 0.1, evidence: 0.1 } as const;

/** Scores one debater by rules. The verdict depends only on the arguments and the topic and is deterministic. */
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

/** Returns the subject words that all debaters get in their prompts. */
function knownWords({ proposition, background }: DebateTopic): ReadonlySet<string> {
  return stemsOf(wordsOf(`${proposition} ${background}`));
}

/** Returns the words that identify each key point of a side: its subject words that the prompts do not contain. */
export function keyWords(topic: DebateTopic, side: Side): readonly ReadonlySet<string>[] {
  const known = knownWords(topic);
  return (side === "PRO" ? topic.pro : topic.con).map((point) => without(stemsOf(wordsOf(point)), known));
}

/** Returns the sentences that count. They are well-formed, and not copies of earlier sentences of any debater. */
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

/**
 * Returns the key point that a sentence makes and its credit: 1 from two thirds of the point's words, 0.25 from 40%,
 * otherwise 0. The sentence needs at least 3 of the words, or all words of a shorter point. A point gets no credit if
 * the sentence has two or more words of another point.
 */
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

/**
 * Returns the maximum number of a point's words that a part of a sentence contains in the point's order. At least half
 * of that part must be such words.
 */
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
 * Returns true if a sentence develops a point. It must give a reason or evidence, and contain at least 4 words that are
 * in no key point of the side and that the debater has not used before. So a list of points develops none, and
 * repeating the same extra words develops at most one.
 */
function isDeveloped({ own, reasons, evidence }: Sentence, used: ReadonlySet<string>): boolean {
  return reasons.length + evidence.length > 0 && without(own, used).size >= 4;
}

function raise(credits: number[], { index, credit }: PointCredit): void {
  credits[index] = Math.max(credits[index]!, credit);
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : sum(values) / values.length;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
