import type { Random } from "../../src/core/random/random.ts";
import type { MathProblem, ProblemGenerator } from "./math-problem.ts";
import { formatRational, rational } from "./rational.ts";

const relations = ["=", "<", "<=", ">", ">="] as const;
const turned = { "=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<=" } as const;

type Relation = (typeof relations)[number];

/** `left.slope * variable + left.constant  relation  right.slope * variable + right.constant` */
interface LinearStatement {
  readonly variable: string;
  readonly relation: Relation;
  readonly left: Side;
  readonly right: Side;
}

interface Side {
  readonly slope: number;
  readonly constant: number;
  /** Writes the side as `slope(variable + constant / slope)`. The quotient must be whole. */
  readonly factored?: boolean;
}

/**
 * Generates linear equations and inequalities in one variable. Two in five are inequalities. The answer to an
 * inequality is such as `x < 3`, the answer to an equation is such as `3` or `-7/2`.
 *
 * - Difficulty 1: x + b = c.
 * - Difficulty 2: a x + b = c.
 * - Difficulty 3: the variable is on both sides.
 * - Difficulty 4: solutions may be fractions.
 * - Difficulty 5: also with parentheses.
 */
export const equationGenerator: ProblemGenerator = (random, difficulty) => {
  const statement = randomStatement(random, difficulty);
  const { steps, answer } = solve(statement);
  const text = format(statement);
  const isEquation = statement.relation === "=";
  return {
    kind: isEquation ? "equation" : "inequality",
    difficulty,
    question: isEquation
      ? `Solve for ${statement.variable}: ${text}`
      : `Solve the inequality for ${statement.variable}: ${text}`,
    terse: `${text.replaceAll(" ", "")}:`,
    steps,
    answer,
  } satisfies MathProblem;
};

function randomStatement(random: Random, difficulty: number): LinearStatement {
  const variable = random.pick(["x", "y", "z", "n", "t"]);
  const relation = random.next() < 0.6 ? "=" : random.pick(relations.slice(1));
  const largest = 10 * difficulty;
  const slope = difficulty === 1 ? 1 : nonZero(random, 9);
  const rightSlope = difficulty < 3 ? 0 : otherThan(random, slope, 9);
  const factored = difficulty === 5;
  const constant = factored ? slope * nonZero(random, 9) : nonZero(random, largest);
  // Below difficulty 4, the solution is chosen first, so that it is a whole number.
  const solution = random.integer(difficulty === 1 ? 1 : -largest, largest);
  const rightConstant = difficulty < 4 ? (slope - rightSlope) * solution + constant : random.integer(-largest, largest);
  return {
    variable,
    relation,
    left: { slope, constant, factored },
    right: { slope: rightSlope, constant: rightConstant },
  };
}

/** Solves a statement: moves constants to the right and the variable to the left, and divides by the coefficient. */
function solve({ variable, relation, left, right }: LinearStatement): { steps: string[]; answer: string } {
  const steps: string[] = [];
  const write = (left: Side, right: Side): void => {
    steps.push(format({ variable, relation, left, right }));
  };
  if (left.factored === true) write({ slope: left.slope, constant: left.constant }, right);
  const constant = right.constant - left.constant;
  write({ slope: left.slope, constant: 0 }, { slope: right.slope, constant });
  const slope = left.slope - right.slope;
  if (right.slope !== 0) write({ slope, constant: 0 }, { slope: 0, constant });
  const solution = rational(constant, slope);
  const solved = `${variable} ${slope < 0 ? turned[relation] : relation} ${formatRational(solution)}`;
  if (slope !== 1) steps.push(solved);
  return { steps, answer: relation === "=" ? formatRational(solution) : solved };
}

function format({ variable, relation, left, right }: LinearStatement): string {
  return `${formatSide(left, variable)} ${relation} ${formatSide(right, variable)}`;
}

function formatSide({ slope, constant, factored }: Side, variable: string): string {
  if (slope === 0) return String(constant);
  const factor = slope === 1 ? "" : slope === -1 ? "-" : String(slope);
  if (factored === true && factor !== "")
    return `${factor}(${formatSide({ slope: 1, constant: constant / slope }, variable)})`;
  if (constant === 0) return `${factor}${variable}`;
  return `${factor}${variable} ${constant < 0 ? "-" : "+"} ${Math.abs(constant)}`;
}

/** Returns a number from -largest to largest, except 0. */
function nonZero(random: Random, largest: number): number {
  const value = random.integer(1, 2 * largest);
  return value <= largest ? value : largest - value;
}

/** Returns a number from -largest to largest, except 0 and `excluded`. */
function otherThan(random: Random, excluded: number, largest: number): number {
  const value = nonZero(random, largest);
  return value === excluded ? -value : value;
}
