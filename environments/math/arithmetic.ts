import type { Random } from "../../src/core/random/random.ts";
import { chainProblem } from "./arithmetic-chain.ts";
import type { MathProblem, ProblemGenerator } from "./math-problem.ts";

/** The kinds of arithmetic problems. `chain` is an expression with several operations. */
export const arithmeticOperations = ["addition", "subtraction", "multiplication", "division", "chain"] as const;

/** One of {@link arithmeticOperations}. */
export type ArithmeticOperation = (typeof arithmeticOperations)[number];

/** The options of arithmetic problems. */
export interface ArithmeticOptions {
  readonly operations: readonly ArithmeticOperation[];
  /** The minimum and maximum number of digits of an operand. Defaults to 1 and the difficulty. */
  readonly digits?: readonly [minimum: number, maximum: number];
}

/**
 * Generates additions, subtractions, multiplications, exact divisions, and chains of these, on whole numbers. Results
 * are negative only from difficulty 3 on.
 */
export function arithmeticGenerator(options: ArithmeticOptions): ProblemGenerator {
  return (random, difficulty) => {
    const operation = random.pick(options.operations);
    if (operation === "chain") {
      const digits = options.digits ?? [1, Math.min(2, difficulty)];
      return chainProblem(random, difficulty, () => numberOfDigits(random, digits));
    }
    const digits = options.digits ?? [1, difficulty];
    const [first, second] = [numberOfDigits(random, digits), numberOfDigits(random, digits)];
    return twoOperandProblem(random, { operation, difficulty, ...operands(operation, difficulty, first, second) });
  };
}

/** Returns a whole number. All numbers of digits in the range are equally likely. One digit includes 0. */
function numberOfDigits(random: Random, [minimum, maximum]: readonly [number, number]): bigint {
  const digits = random.integer(minimum, maximum);
  return BigInt(random.integer(digits === 1 ? 0 : 10 ** (digits - 1), 10 ** digits - 1));
}

type TwoOperandOperation = Exclude<ArithmeticOperation, "chain">;

interface Operands {
  readonly left: bigint;
  readonly right: bigint;
}

function operands(operation: TwoOperandOperation, difficulty: number, first: bigint, second: bigint): Operands {
  if (operation === "subtraction" && difficulty < 3 && first < second) return { left: second, right: first };
  if (operation !== "division") return { left: first, right: second };
  const divisor = second === 0n ? 1n : second;
  return { left: first * divisor, right: divisor };
}

const symbols = { addition: "+", subtraction: "-", multiplication: "*", division: "/" } as const;

function twoOperandProblem(
  random: Random,
  problem: Operands & { readonly operation: TwoOperandOperation; readonly difficulty: number },
): MathProblem {
  const { operation, difficulty, left, right } = problem;
  const symbol = symbols[operation];
  const answer = calculate(operation, left, right);
  const expression = `${left} ${symbol} ${right}`;
  return {
    kind: operation,
    difficulty,
    question: random.pick([`What is ${expression}?`, `Calculate ${expression}.`, `Work out ${expression}.`]),
    terse: `${left}${symbol}${right}=`,
    steps: [...workedSteps(operation, left, right), `${expression} = ${answer}`],
    answer: String(answer),
  };
}

function calculate(operation: TwoOperandOperation, left: bigint, right: bigint): bigint {
  switch (operation) {
    case "addition":
      return left + right;
    case "subtraction":
      return left - right;
    case "multiplication":
      return left * right;
    case "division":
      return left / right;
  }
}

/**
 * Returns the solution's steps. They process the second operand by its decimal places, one line each. A division is
 * checked by its product.
 */
function workedSteps(operation: TwoOperandOperation, left: bigint, right: bigint): string[] {
  if (operation === "division") return [`${calculate(operation, left, right)} * ${right} = ${left}`];
  const places = decimalPlaces(right);
  if (places.length < 2) return [];
  if (operation === "multiplication") {
    const products = places.map((place) => left * place);
    return [
      ...places.map((place, i) => `${left} * ${place} = ${products[i]}`),
      `${products.join(" + ")} = ${left * right}`,
    ];
  }
  let total = left;
  return places.map((place) => {
    const before = total;
    total = calculate(operation, total, place);
    return `${before} ${symbols[operation]} ${place} = ${total}`;
  });
}

/** Splits a number into its decimal places, such as 305 into 300 and 5. */
function decimalPlaces(value: bigint): bigint[] {
  const digits = String(value);
  return [...digits]
    .map((digit, i) => BigInt(digit) * 10n ** BigInt(digits.length - 1 - i))
    .filter((place) => place > 0n);
}
