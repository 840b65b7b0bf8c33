import { addRationals, multiplyRationals, negateRational, type Rational, rational } from "../math/rational.ts";

/** An expression that was read: its exact value, and the numbers in it, in order. */
export interface Expression {
  readonly value: Rational;
  readonly numbers: readonly number[];
}

/** A longer answer is no expression of a few numbers. The limit also bounds the recursion of the parser. */
const maximumLength = 200;

/** Signs that people and models write for the four operators. */
const signs: readonly (readonly [RegExp, string])[] = [
  [/[−–—－]/g, "-"],
  [/＋/g, "+"],
  [/[×✕✖⋅·∙∗＊]|\\(?:times|cdot)(?![a-zA-Z])/g, "*"],
  [/[÷∕／]|\\div(?![a-zA-Z])/g, "/"],
  [/[（[]|\\left\(/g, "("],
  [/[）\]]|\\right\)/g, ")"],
  // 3 x 7
  [/(?<=[\d)]\s*)[xX](?=\s*[\d(])/g, "*"],
];

/**
 * Reads the expression that a reply ends with: on its last line that is not empty, or in its last `<answer>` tag. What
 * precedes a colon, words in front of the expression, an equals sign with what follows, marks of emphasis and a full stop
 * are left out. Everything else must be whole numbers, `+ - * /` and parentheses. Returns undefined for other text, and
 * for a division by 0.
 */
export function readExpression(reply: string): Expression | undefined {
  const tagged = [...reply.matchAll(/<answer>([^<]*)<\/answer>/g)].at(-1)?.[1];
  // A last line of marks only closes a block.
  const lines = (tagged ?? reply).trimEnd().split("\n");
  const line = lines.findLast((text) => !/^\s*(?:```|\$\$|\\\])\s*$/.test(text)) ?? "";
  if (line.length > 5 * maximumLength) return undefined;
  const plain = signs.reduce((text, [sign, operator]) => text.replaceAll(sign, operator), line);
  const stated = plain
    .replace(/^.*(?:(?<![\d)]\s*):|####|\\boxed\{)/, "")
    // Not between digits, which would become one number.
    .replaceAll(/(?<!\d)(?:\*\*|[`$}]|\\[()])+|(?:\*\*|[`$}]|\\[()])+(?!\d|\*\*|[`$}]|\\[()])/g, "")
    .replace(/=.*$/, "")
    // A list mark, or words such as "The expression is".
    .replace(/^\s*(?:[-*•]\s+|[a-z][a-z ,']*\s)/i, "")
    .replace(/\.\s*$/, "")
    .trim();
  return stated.length > maximumLength ? undefined : parseExpression(stated);
}

/** Parses an expression by its grammar: sums of products of numbers and parentheses. */
function parseExpression(text: string): Expression | undefined {
  const tokens = text.match(/\d+|\S/g) ?? [];
  const numbers: number[] = [];
  let place = 0;

  const operand = (): Rational | undefined => {
    const token = tokens[place++];
    if (token === "(") {
      const inner = sum();
      return tokens[place++] === ")" ? inner : undefined;
    }
    if (token === undefined || !/^\d{1,9}$/.test(token)) return undefined;
    numbers.push(Number(token));
    return rational(Number(token));
  };

  const chain = (
    part: () => Rational | undefined,
    operators: Readonly<Record<string, (a: Rational, b: Rational) => Rational | undefined>>,
  ): Rational | undefined => {
    let value = part();
    for (let apply = operators[tokens[place]!]; value !== undefined && apply; apply = operators[tokens[place]!]) {
      place++;
      const next = part();
      value = next === undefined ? undefined : apply(value, next);
    }
    return value;
  };
  const product = () => chain(operand, { "*": multiplyRationals, "/": divided });
  const sum = (): Rational | undefined =>
    chain(product, { "+": addRationals, "-": (a, b) => addRationals(a, negateRational(b)) });

  const value = sum();
  return value === undefined || place < tokens.length ? undefined : { value, numbers };
}

function divided(a: Rational, b: Rational): Rational | undefined {
  if (b.numerator === 0n) return undefined;
  return multiplyRationals(a, rational(b.denominator, b.numerator));
}
