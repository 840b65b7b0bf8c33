import type { Random } from "../../../src/core/random/random.ts";
import { integerOtherThan, type PairGenerator, shuffled, sum, times } from "./answer-pair.ts";

const letters = ["x", "y", "a", "n", "t"] as const;
const squarefree = [2, 3, 5, 6, 7, 10, 11, 13, 14, 15] as const;

const expressions: PairGenerator = (random, equal) => {
  const letter = random.pick(letters);
  const [a, c] = [integerOtherThan(random, [-6, 6], [0]), random.integer(1, 6)];
  const [b, d] = [integerOtherThan(random, [-9, 9], [0]), integerOtherThan(random, [-9, 9], [0])];
  const expanded = (constant: number): string =>
    sum(
      shuffled(random, [
        times(a * c, random.pick([`${letter}^2`, `${letter}^{2}`])),
        times(a * d + b * c, letter),
        String(constant),
      ]),
    );
  const [open, close] = random.pick([
    ["(", ")"],
    ["\\left(", "\\right)"],
  ] as const);
  const product = [sum([times(a, letter), String(b)]), sum([times(c, letter), String(d)])]
    .map((factor) => `${open}${factor}${close}`)
    .join("");
  const given = equal ? b * d : b * d + integerOtherThan(random, [-5, 5], [0]);
  return random.integer(0, 1) === 0
    ? { answer: expanded(given), gold: product, equal }
    : { answer: expanded(given), gold: expanded(b * d), equal };
};

const roots: PairGenerator = (random, equal) => {
  const [inner, outer] = [random.pick(squarefree), random.integer(2, 9)];
  const given = equal ? outer : outer + 1;
  const top = random.integer(1, 9);
  return {
    ...random.pick([
      { answer: `${given}\\sqrt{${inner}}`, gold: `\\sqrt{${outer * outer * inner}}` },
      { answer: `\\sqrt{${given * given * inner}}`, gold: `${outer}\\sqrt{${inner}}` },
      { answer: `\\frac{\\sqrt{${inner}}}{${given * inner}}`, gold: `\\frac{1}{${outer}\\sqrt{${inner}}}` },
      { answer: `${given} \\cdot \\sqrt[3]{${inner}}`, gold: `\\sqrt[3]{${outer ** 3 * inner}}` },
      { answer: `${given} \\cdot ${inner}^{1/2}`, gold: `${outer}\\sqrt{${inner}}` },
      { answer: `-${given}\\sqrt{${inner}}`, gold: `-\\sqrt{${outer * outer * inner}}` },
      { answer: `${given}\\sqrt{${inner}} + ${top}`, gold: `${top} + ${outer}\\sqrt{${inner}}` },
      {
        answer: `\\frac{${top}+${given}\\sqrt{${inner}}}{2}`,
        gold: `\\frac{${top}}{2}+\\frac{${outer}\\sqrt{${inner}}}{2}`,
      },
      { answer: `\\sqrt{${given * given}\\cdot ${inner}}`, gold: `${outer}\\sqrt${inner < 10 ? inner : `{${inner}}`}` },
      { answer: `${given}\\sqrt{${inner}}\\pi`, gold: `\\pi\\sqrt{${outer * outer * inner}}` },
    ]),
    equal,
  };
};

const equations: PairGenerator = (random, equal) => {
  const [slope, shift] = [integerOtherThan(random, [-9, 9], [0]), integerOtherThan(random, [-9, 9], [0])];
  const [center, side] = [integerOtherThan(random, [-6, 6], [0]), random.integer(1, 9)];
  const factor = random.integer(2, 5);
  const other = equal ? shift : integerOtherThan(random, [-9, 9], [0, shift]);
  const radius = equal ? side : side + random.integer(1, 3);
  const line = `y = ${sum([times(slope, "x"), String(shift)])}`;
  const circle = `(${sum(["x", String(-center)])})^2 + y^2 = ${side * side}`;
  return {
    ...random.pick([
      { answer: `y = ${sum([String(other), times(slope, "x")])}`, gold: line },
      { answer: `${sum([times(slope, "x"), String(other)])} = y`, gold: line },
      { answer: `${sum([times(slope, "x"), "-y", String(other)])} = 0`, gold: line },
      { answer: `${sum([times(factor, "y"), times(-slope * factor, "x")])} = ${factor * other}`, gold: line },
      { answer: `${sum(["y", String(-other)])} = ${times(slope, "x")}`, gold: line },
      {
        answer: `${sum(["x^2", times(-2 * center, "x"), "y^2"])} = ${radius * radius - center * center}`,
        gold: circle,
      },
      { answer: `y^2 + (${sum(["x", String(-center)])})^2 = ${radius * radius}`, gold: circle },
      {
        answer: `${sum(["x^2", "y^2", times(-2 * center, "x"), String(center * center - radius * radius)])} = 0`,
        gold: circle,
      },
      { answer: `x = ${other}`, gold: `x=${shift}` },
      {
        answer: `${sum([times(slope, "x"), times(factor, "y"), "z"])} = ${other}`,
        gold: `${sum(["z", times(factor, "y"), times(slope, "x")])} = ${shift}`,
      },
    ]),
    equal,
  };
};

type Sign = "<" | "\\le" | "\\leq" | ">" | "\\ge" | "\\geq" | "\\geqslant" | "≤" | "≥" | "<=" | ">=";
const signs: Readonly<Record<string, readonly Sign[]>> = {
  "<": ["<"],
  ">": [">"],
  "<=": ["\\le", "\\leq", "≤", "<="],
  ">=": ["\\ge", "\\geq", "\\geqslant", "≥", ">="],
};
const mirrored: Readonly<Record<string, string>> = { "<": ">", ">": "<", "<=": ">=", ">=": "<=" };
const loosened: Readonly<Record<string, string>> = { "<": "<=", ">": ">=", "<=": "<", ">=": ">" };
const write = (random: Random, relation: string): string => random.pick(signs[relation]!);

const inequalities: PairGenerator = (random, equal) => {
  const relation = random.pick(["<", ">", "<=", ">="]);
  const bound = random.integer(-20, 20);
  const change = equal ? "none" : random.pick(["relation", "direction", "bound"]);
  const given = change === "relation" ? loosened[relation]! : change === "direction" ? mirrored[relation]! : relation;
  const limit = change === "bound" ? integerOtherThan(random, [-20, 20], [bound]) : bound;
  const [sign, turned] = [write(random, given), write(random, mirrored[given]!)];
  const low = bound - random.integer(1, 9);
  const [slope, factor] = [random.integer(2, 9), random.integer(2, 5)];
  const interval = given.startsWith("<")
    ? `(-\\infty, ${limit}${given === "<" ? ")" : "]"}`
    : `${given === ">" ? "(" : "["}${limit}, \\infty)`;
  const gold = `x ${write(random, relation)} ${bound}`;
  const forms = [
    { answer: `x ${sign} ${limit}`, gold },
    { answer: `${limit} ${turned} x`, gold },
    { answer: interval, gold },
    { answer: `x ${sign} ${limit}`, gold: relationInterval(relation, bound) },
    {
      answer: `${times(factor, "y")} ${sign} ${sum([times(slope * factor, "x"), String(limit * factor)])}`,
      gold: `y ${write(random, relation)} ${sum([times(slope, "x"), String(bound)])}`,
    },
    {
      answer: `${sum([times(-slope, "x"), String(-limit)])} ${sign} -y`,
      gold: `y ${write(random, relation)} ${sum([times(slope, "x"), String(bound)])}`,
    },
  ];
  if (relation.startsWith("<") && given.startsWith("<") && limit > low) {
    forms.push(
      { answer: `${low} < x ${sign} ${limit}`, gold: `${low} < x ${write(random, relation)} ${bound}` },
      { answer: `${limit} ${turned} x > ${low}`, gold: `${low} < x ${write(random, relation)} ${bound}` },
      {
        answer: `(${low}, ${limit}${given === "<" ? ")" : "]"}`,
        gold: `${low} < x ${write(random, relation)} ${bound}`,
      },
    );
  }
  return { ...random.pick(forms), equal };
};

function relationInterval(relation: string, bound: number): string {
  if (relation.startsWith("<")) return `(-\\infty,${bound}${relation === "<" ? ")" : "]"}`;
  return `${relation === ">" ? "(" : "["}${bound},\\infty)`;
}

const identities: PairGenerator = (random, equal) => {
  const k = random.integer(2, 9);
  const m = integerOtherThan(random, [2, 9], [k]);
  // The value in place of k if the answer must be wrong.
  const j = equal ? k : k + random.integer(1, 4);
  const x = random.pick(letters);
  return {
    ...random.pick([
      { answer: `2\\sin(${j}${x})\\cos(${j}${x})`, gold: `\\sin(${2 * k}${x})` },
      { answer: `1-2\\sin^2(${j}${x})`, gold: `\\cos(${2 * k}${x})` },
      { answer: `\\frac{\\sin(${j}${x})}{\\cos(${j}${x})}`, gold: `\\tan(${k}${x})` },
      { answer: `\\ln ${j} + \\ln ${m}`, gold: `\\ln ${k * m}` },
      { answer: `\\ln(${j * m})`, gold: `\\ln(${k}) + \\ln(${m})` },
      { answer: `\\frac{\\ln ${j}}{\\ln ${m}}`, gold: `\\log_{${m}} ${k}` },
      { answer: `${x}^{${j + m}}`, gold: `${x}^{${k}} \\cdot ${x}^{${m}}` },
      { answer: `${x} + ${j}`, gold: `\\frac{${x}^2 - ${k * k}}{${x} - ${k}}` },
      { answer: `${4 * j}${x}`, gold: `(${x}+${k})^2-(${x}-${k})^2` },
      { answer: `e^{${x}} \\cdot e^{${j}}`, gold: `e^{${x}+${k}}` },
      { answer: `${k * m - k} + ${j * k + m}i`, gold: `(${k}+i)(${m}+${k}i)` },
      { answer: `\\frac{${j}p+${m}q}{pq}`, gold: `\\frac{${k}}{q} + \\frac{${m}}{p}` },
      { answer: `\\frac{${x}^2+${j}${x}}{2}`, gold: `\\frac{${x}(${x}+${k})}{2}` },
      { answer: `${j}^{n+1}`, gold: `${k} \\cdot ${k}^n` },
      { answer: `\\frac{1}{${x}+${j}}`, gold: `(${x}+${k})^{-1}` },
      { answer: `|${j} - ${x}|`, gold: `|${x} - ${k}|` },
      { answer: `\\frac{${j}\\pi}{${m}}`, gold: `\\frac{${k}}{${m}}\\pi` },
      { answer: `${j}(\\alpha + \\beta)`, gold: `${k}\\beta + ${k}\\alpha` },
    ]),
    equal,
  };
};

/** Expressions, equations and inequalities. */
export const formulaPairs: Readonly<Record<string, PairGenerator>> = {
  "LaTeX expressions": expressions,
  roots,
  equations,
  inequalities,
  "symbolic equivalence": identities,
};
