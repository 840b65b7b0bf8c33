import type { Random } from "../../../src/core/random/random.ts";
import { type AnswerPair, type PairGenerator, shuffled } from "./answer-pair.ts";
import { drawFraction, type Fraction, fraction, otherFraction, writeFraction } from "./number-pairs.ts";

/** This many distinct values, most of them whole numbers. */
function drawValues(random: Random, count: number): Fraction[] {
  const values: Fraction[] = [];
  while (values.length < count) {
    const value = random.integer(0, 3) === 0 ? drawFraction(random) : fraction(random.integer(-12, 12));
    if (values.every(({ top, bottom }) => top * value.bottom !== value.top * bottom)) values.push(value);
  }
  return values;
}

const isSame = (a: Fraction, b: Fraction): boolean => a.top * b.bottom === b.top * a.bottom;

/** Changes one value to one that is not among them. */
function changed(random: Random, values: readonly Fraction[]): Fraction[] {
  const at = random.integer(0, values.length - 1);
  for (;;) {
    const other = otherFraction(random, values[at]!.top === 0 ? fraction(1) : values[at]!);
    if (!values.some((value) => isSame(value, other))) return values.toSpliced(at, 1, other);
  }
}

const written = (random: Random, values: readonly Fraction[]): string[] =>
  values.map((value) => writeFraction(random, value));

const intervals: PairGenerator = (random, equal) => {
  const low = random.integer(-20, 20);
  const high = low + random.integer(1, 20);
  const flip = equal ? -1 : random.integer(0, 3);
  const [open, close] = [random.pick(["(", "["]), random.pick([")", "]"])];
  const turned = (bracket: string): string => ({ "(": "[", "[": "(", ")": "]", "]": ")" })[bracket]!;
  const [start, end] = [flip === 0 ? turned(open) : open, flip === 1 ? turned(close) : close];
  const [from, to] = [flip === 2 ? low - 1 : low, flip === 3 ? high + 1 : high];
  const big = random.integer(0, 2) === 0;
  const inner = `${big ? "\\left" : ""}${start}${from}, ${to}${big ? "\\right" : ""}${end}`;
  const [lower, upper] = [start === "(" ? "<" : "\\le", end === ")" ? "<" : "\\leq"];
  const rays: AnswerPair = {
    answer: `(-\\infty, ${from}${end} ${random.pick(["\\cup", "∪"])} ${start}${to}, \\infty)`,
    gold: random.pick([
      `(-\\infty,${low}${close} \\cup ${open}${high},\\infty)`,
      `${open}${high},\\infty)\\cup(-\\infty,${low}${close}`,
    ]),
    equal,
  };
  const gold = `${open}${low},${high}${close}`;
  return random.pick([
    { answer: inner, gold, equal },
    { answer: `x \\in ${inner}`, gold, equal },
    { answer: `${from} ${lower} x ${upper} ${to}`, gold, equal },
    rays,
  ]);
};

const sets: PairGenerator = (random, equal) => {
  const values = drawValues(random, random.integer(2, 4));
  const given = equal
    ? values
    : random.pick([changed(random, values), values.slice(1), [...values, fraction(random.integer(13, 30))]]);
  const items = written(random, shuffled(random, given));
  const wanted = written(random, values);
  const root = random.pick([2, 3, 5, 7]);
  const shift = random.integer(1, 9);
  const forms = [
    { answer: `\\{${items.join(", ")}\\}`, gold: `\\{${wanted.join(", ")}\\}` },
    { answer: `\\left\\{${items.join(", ")}\\right\\}`, gold: `\\{${wanted.join(",")}\\}` },
    { answer: items.join(", "), gold: wanted.join(",") },
    { answer: `\\{${items.join(", ")}\\}`, gold: wanted.join(", ") },
    { answer: items.join(", "), gold: `\\{${wanted.join(", ")}\\}` },
    {
      answer: items.map((item) => `x = ${item}`).join(random.pick([" \\text{ or } ", ", ", " or "])),
      gold: wanted.join(", "),
    },
    { answer: `${items.slice(0, -1).join(", ")}\\text{ and }${items.at(-1)}`, gold: wanted.join(", ") },
    {
      answer: `${equal ? shift : shift + 1} \\pm \\sqrt{${root}}`,
      gold: `${shift}+\\sqrt{${root}}, ${shift}-\\sqrt{${root}}`,
    },
    { answer: `x = \\pm ${equal ? shift : shift + 1}`, gold: `${shift}, -${shift}` },
  ];
  return { ...random.pick(forms), equal };
};

const tuples: PairGenerator = (random, equal) => {
  const values = drawValues(random, random.integer(2, 4));
  const given = equal ? values : random.pick([changed(random, values), values.toReversed(), [...values, fraction(1)]]);
  const inner = written(random, given).join(", ");
  const names = ["x", "y", "z", "w"].slice(0, values.length).join(", ");
  const answer = random.pick([
    `(${inner})`,
    `\\left(${inner}\\right)`,
    `\\left( ${inner} \\right)`,
    `(${names}) = (${inner})`,
  ]);
  return { answer, gold: `(${written(random, values).join(",")})`, equal };
};

const matrices: PairGenerator = (random, equal) => {
  const [rows, columns] = random.pick([
    [1, 2],
    [2, 1],
    [2, 2],
    [2, 3],
    [3, 1],
    [3, 3],
  ] as const);
  const values = drawValues(random, rows * columns);
  const rowsOf = (items: readonly Fraction[]): Fraction[][] =>
    Array.from({ length: rows }, (_, row) => items.slice(row * columns, (row + 1) * columns));
  const wanted = rowsOf(values);
  const transposed = wanted[0]!.map((_, column) => wanted.map((row) => row[column]!));
  const given = equal ? wanted : random.pick([transposed, rowsOf(changed(random, values))]);
  const write = (entries: readonly (readonly Fraction[])[], space: string): string => {
    const fence = random.pick(["pmatrix", "bmatrix"]);
    const lines = entries.map((row) => written(random, row).join(`${space}&${space}`));
    return `\\begin{${fence}}${space}${lines.join(`${space}\\\\${space}`)}${space}\\end{${fence}}`;
  };
  return { answer: `${random.pick(["", "", "A = "])}${write(given, " ")}`, gold: write(wanted, ""), equal };
};

/** Intervals, sets, tuples and matrices. */
export const collectionPairs: Readonly<Record<string, PairGenerator>> = { intervals, sets, tuples, matrices };

/** A value of some kind in two forms, and a form of another value. */
function drawForms(random: Random): readonly [form: string, sameForm: string, otherForm: string] {
  const value = drawFraction(random);
  const k = random.integer(2, 9);
  return random.pick([
    [writeFraction(random, value), writeFraction(random, value), writeFraction(random, otherFraction(random, value))],
    [`${k}\\sqrt{3}`, `\\sqrt{${3 * k * k}}`, `${k + 1}\\sqrt{3}`],
    [`(x+${k})^2`, `x^2+${2 * k}x+${k * k}`, `x^2+${2 * k}x-${k * k}`],
    [`(${k}, ${k + 1})`, `(${k},${k + 1})`, `(${k + 1},${k})`],
    [`[${k}, ${k + 3})`, `${k} \\le x < ${k + 3}`, `${k} < x < ${k + 3}`],
  ] as const);
}

/** A reference in several forms, each of which is right. They need not be equal. */
export const severalForms: PairGenerator = (random, equal) => {
  const [form, same, other] = drawForms(random);
  const answer = equal ? same : other;
  const others = [random.pick(["\\text{none}", "\\sqrt{1001}", "z + 1"]), String(random.integer(1_000, 9_999))];
  const gold = shuffled(random, [form, ...others]);
  return { answer, gold, equal };
};

/** Whole replies, in which the last box counts. */
export const boxedReplies: PairGenerator = (random, equal) => {
  const [form, same, other] = drawForms(random);
  const answer = equal ? same : other;
  const wrong = random.integer(1000, 2000);
  const reply = random.pick([
    `\\boxed{${answer}}`,
    `The final answer is $\\boxed{${answer}}$.`,
    `Therefore we get\n\\[\n\\boxed{${answer}}\n\\]`,
    `$$\\boxed{ ${answer} }$$`,
    `First I thought of $\\boxed{${wrong}}$. That was wrong.\nSo it is $\\boxed{${answer}}$`,
    `Adding ${wrong} and 1 gives ${wrong + 1}.\n\n**Answer:** $\\boxed{${answer}}$`,
    `It is \\(\\boxed{${answer}}\\), as was to be found.`,
    `<think>Is it \\boxed{${wrong}}?</think>\nThe answer is \\boxed{${answer}}.`,
    `\\fbox{${answer}}`,
    `\\boxed {${answer}}`,
  ]);
  return { answer: reply, gold: form, equal, isReply: true };
};
