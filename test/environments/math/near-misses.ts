import { createRandom, type Random } from "../../../src/core/random/random.ts";

/** A wrong answer in a usual form, and the right one. */
export interface NearMiss {
  readonly text: string;
  readonly gold: string;
  readonly question: string;
}

/** Returns this many near misses: a number close to the right one, written in each usual form in turn. */
export function nearMisses(count: number, seed: number): NearMiss[] {
  const random = createRandom(seed);
  return Array.from({ length: count }, (_, i) => makers[i % makers.length]!(random));
}

const raw = String.raw;

/** Returns a whole number from `low` to `high`. */
function whole(random: Random, low: number, high: number): number {
  return low + Math.floor(random.next() * (high - low + 1));
}

const pick = <Item>(random: Random, items: readonly Item[]): Item => items[whole(random, 0, items.length - 1)]!;
const say = (text: string, gold: string, question = "What is it?"): NearMiss => ({ text, gold, question });
const grouped = (value: number, separator: string): string => String(value).replace(/\B(?=(\d{3})+$)/g, separator);

/** Returns a number close to `value`: a digit more or less, another sign, a power of ten, swapped digits. */
function beside(random: Random, value: number): number {
  const swapped = Number([...String(value)].reverse().join(""));
  return pick(
    random,
    [value + 1, value - 1, -value, value * 10, value * 100, value * 1000, swapped].filter((other) => other !== value),
  );
}

type Maker = (random: Random) => NearMiss;

const kinds: readonly Maker[] = [
  (random) => {
    const gold = whole(random, 2, 9999);
    const wrong = beside(random, gold);
    const form = pick(random, [
      `Final Answer: The sum of all ${gold} numbers is ${wrong}.`,
      `Final Answer: The value is ${wrong} when x is ${gold}.`,
      `The answer is\n\\[\n${wrong}\n\\]`,
      `So we get\n$$\nx = ${wrong}\n$$`,
      `#### ${wrong} (since ${gold} is too small)`,
      `#### ${wrong}<|im_end|>`,
      raw`\boxed{x \approx ${wrong}}`,
      raw`\boxed{A = \frac{${wrong}}{1} \cdot 1 = ${wrong}}`,
      raw`\boxed{${gold} \cdot 2 = ${wrong}}`,
      raw`\boxed{${gold} - 1 = ${gold}}`,
      raw`\boxed{x + 1 = ${gold}}`,
      raw`\boxed{${gold}} and \boxed{${wrong}}`,
      raw`$x = \boxed{${wrong}}$ or $x = \boxed{${gold}}$`,
      `The answer is ${gold} or ${wrong}.`,
      `The answer is not ${gold}.`,
      raw`\boxed{${gold}x}`,
      raw`\boxed{${gold}^2}`,
    ]);
    return say(form, String(gold));
  },
  (random) => {
    const gold = whole(random, 1001, 999_999);
    const wrong = beside(random, gold);
    const separator = pick(random, [raw`\,`, raw`\!`, "{,}", "'", ",", "\u2009", raw`{,}\!`]);
    const text = Math.abs(wrong) < 1000 ? String(wrong) : grouped(wrong, separator);
    const [decimal, uneven] = [grouped(gold, "."), `${grouped(gold, " ")}0`];
    return say(`\\boxed{${pick(random, [text, decimal, uneven])}}`, String(gold));
  },
  (random) => {
    const gold = whole(random, 2, 999);
    const wrong = beside(random, gold);
    const unit = pick(random, ["cm²", "cm^2", "m/s^2", "$\\text{cm}^2$", "km/h", "€", "dollars"]);
    return say(`So the value is ${wrong} ${unit}.`, String(gold));
  },
  (random) => {
    const gold = whole(random, 2, 999);
    const [unit, other] = pick(random, [
      [raw`\text{ cm}`, raw`\textnormal{ m}`],
      [raw`\text{ cm}^2`, raw`\textnormal{ cm}^3`],
      [raw`\text{ m}/\text{s}`, raw`\textnormal{ m}/\textnormal{s}^2`],
      [raw`\text{ hours}`, raw`\textnormal{ minutes}`],
    ]);
    return say(raw`\boxed{${gold}${other}}`, `${gold}${unit}`);
  },
  (random) => {
    const [a, b] = [whole(random, 2, 50), whole(random, 51, 99)];
    const [left, right] = [pick(random, ["(", "["]), pick(random, [")", "]"])];
    const flipped = left === "(" ? "[" : "(";
    const relation = left === "(" ? raw`\le` : "<";
    return say(
      pick(random, [
        raw`\boxed{${flipped}${a},${b}${right}}`,
        raw`\boxed{${a} ${relation} x ${right === ")" ? "<" : raw`\le`} ${b}}`,
        raw`\boxed{{${a}, ${b}}}`,
        raw`\boxed{x > ${a} \text{ or } x < ${b}}`,
        raw`\boxed{${left}${a},${b + 1}${right}}`,
      ]),
      `${left}${a},${b}${right}`,
    );
  },
  (random) => {
    const [a, b] = [whole(random, 2, 50), whole(random, 51, 99)];
    return say(
      pick(random, [
        raw`\boxed{x < ${a} \text{ and } x > ${b}}`,
        raw`\boxed{x \le ${a} \text{ or } x > ${b}}`,
        raw`\boxed{x < ${b} \text{ or } x > ${a}}`,
        raw`\boxed{x < ${a}}`,
        raw`\boxed{x < ${a} \text{ or } y > ${b}}`,
      ]),
      raw`(-\infty,${a})\cup(${b},\infty)`,
    );
  },
  (random) => {
    const [a, b] = [whole(random, 2, 50), whole(random, 51, 99)];
    const gold = pick(random, [`${a}:${b}`, raw`${a} \text{ to } ${b}`]);
    return say(
      pick(random, [
        `\\boxed{${b}:${a}}`,
        `\\boxed{${a}:${b + 1}}`,
        `\\boxed{${b}/${a}}`,
        `\\boxed{${a}:${b}:1}`,
        `\\boxed{${a}}`,
      ]),
      gold,
    );
  },
  (random) => {
    const [k, n] = [whole(random, 2, 50), whole(random, 51, 99)];
    const question = pick(random, ["Find $(n, k)$.", "What is the ordered pair (n, k)?"]);
    return say(
      pick(random, [
        raw`\boxed{k = ${n}, n = ${k}}`,
        raw`\boxed{n = ${k}, k = ${n}}`,
        raw`\boxed{(k, n) = (${n}, ${k})}`,
        raw`\boxed{(${k}, ${n})}`,
        raw`\boxed{n = ${n}, n = ${k}}`,
      ]),
      `(${n},${k})`,
      question,
    );
  },
  (random) => {
    const [a, b, c, d] = [1, 2, 3, 4].map(() => whole(random, 1, 50)) as [number, number, number, number];
    const matrix = (x: number, y: number): string => raw`\begin{pmatrix}${x}&${y}\end{pmatrix}`;
    return say(
      pick(random, [
        raw`\boxed{${matrix(a, b)}+${matrix(c, d)}}`,
        raw`\boxed{${matrix(a, b)}+${matrix(c, d)}=${matrix(a + c, b + d + 1)}}`,
        raw`\boxed{A + B = ${matrix(a + c + 1, b + d)}}`,
        raw`\boxed{${matrix(a, b)}-${matrix(c, d)}=${matrix(a + c, b + d)}}`,
      ]),
      matrix(a + c, b + d),
    );
  },
  (random) => {
    const [top, bottom] = [whole(random, 1, 200), pick(random, [3, 7, 9, 11, 13])];
    const places = whole(random, 1, 5);
    const right = Number((top / bottom).toFixed(places));
    const wrong = (right + pick(random, [1, -1, 2, -2]) * 10 ** -places).toFixed(places);
    const isWhole = top % bottom === 0;
    const question = pick(random, [`Round to ${places} decimal places.`, `Give it to ${places} decimal places.`]);
    const text = isWhole
      ? String(top / bottom + 1)
      : pick(random, [wrong, (top / bottom).toFixed(places - 1), `${wrong}00`]);
    return say(raw`\boxed{${text}}`, raw`\frac{${top}}{${bottom}}`, question);
  },
];

/** Numbers, which need no thread, occur twice as often. */
const [numbers, groups, sentences] = kinds as [Maker, Maker, Maker];
const makers: readonly Maker[] = [...kinds, numbers, groups, sentences, kinds.at(-1)!];
