import type { Random } from "../../src/core/random/random.ts";
import type { MathProblem } from "./math-problem.ts";

type Expression =
  | { readonly type: "number"; readonly value: bigint }
  | { readonly type: "operation"; readonly symbol: Operator; readonly left: Expression; readonly right: Expression };
type Operator = "+" | "-" | "*";

const precedence = { "+": 1, "-": 1, "*": 2 } as const;

/**
 * Returns an expression of `difficulty` + 1 operations (addition, subtraction, multiplication). Its random tree
 * determines the parentheses. The solution reduces the leftmost innermost operation line by line.
 */
export function chainProblem(random: Random, difficulty: number, number: () => bigint): MathProblem {
  const expression = randomExpression(random, difficulty + 1, difficulty, number);
  const text = format(expression);
  const steps: string[] = [];
  let current = expression;
  while (current.type === "operation") {
    const next = reduce(current);
    steps.push(`${format(current)} = ${format(next)}`);
    current = next;
  }
  return {
    kind: "chain",
    difficulty,
    question: random.pick([`What is ${text}?`, `Calculate ${text}.`, `Evaluate ${text}.`]),
    terse: `${text.replaceAll(" ", "")}=`,
    steps,
    answer: String(current.value),
  };
}

/** Returns a random expression. Below difficulty 3, every right operand is a number, as in `(2 + 3) * 4`. */
function randomExpression(random: Random, operations: number, difficulty: number, number: () => bigint): Expression {
  if (operations === 0) return { type: "number", value: number() };
  const onTheLeft = difficulty < 3 ? operations - 1 : random.integer(0, operations - 1);
  return {
    type: "operation",
    symbol: random.pick(["+", "-", "*"] as const),
    left: randomExpression(random, onTheLeft, difficulty, number),
    right: randomExpression(random, operations - 1 - onTheLeft, difficulty, number),
  };
}

/** Computes the leftmost operation whose operands are both numbers. */
function reduce(expression: Expression & { readonly type: "operation" }): Expression {
  const { symbol, left, right } = expression;
  if (left.type === "operation") return { ...expression, left: reduce(left) };
  if (right.type === "operation") return { ...expression, right: reduce(right) };
  return { type: "number", value: calculate(symbol, left.value, right.value) };
}

function calculate(symbol: Operator, left: bigint, right: bigint): bigint {
  if (symbol === "+") return left + right;
  return symbol === "-" ? left - right : left * right;
}

function format(expression: Expression): string {
  if (expression.type === "number") return String(expression.value);
  const { symbol, left, right } = expression;
  const inner = (operand: Expression, isRight: boolean): string => {
    const text = format(operand);
    if (operand.type === "number") return isRight && operand.value < 0n ? `(${text})` : text;
    const looser = precedence[operand.symbol] < precedence[symbol];
    const subtracted = isRight && symbol === "-" && precedence[operand.symbol] === precedence[symbol];
    return looser || subtracted ? `(${text})` : text;
  };
  return `${inner(left, false)} ${symbol} ${inner(right, true)}`;
}
