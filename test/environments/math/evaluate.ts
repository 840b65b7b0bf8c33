import {
  addRationals,
  multiplyRationals,
  negateRational,
  type Rational,
  rational,
} from "../../../environments/math/rational.ts";

/**
 * Returns the exact value of an expression of whole numbers, variables, + - * /, parentheses and juxtaposition (`3x`,
 * `-2(t + 1)`). Written separately from the generators, to check them.
 */
export function evaluate(text: string, variables: Readonly<Record<string, Rational>> = {}): Rational {
  const tokens = text.match(/\d+|[a-z]|[-+*/()]/g) ?? [];
  if (tokens.join("") !== text.replaceAll(" ", "")) throw new Error(`Cannot read ${text}.`);
  let position = 0;

  function sum(): Rational {
    let value = product();
    while (tokens[position] === "+" || tokens[position] === "-") {
      const subtract = tokens[position++] === "-";
      const term = product();
      value = addRationals(value, subtract ? negateRational(term) : term);
    }
    return value;
  }

  function product(): Rational {
    let value = factor();
    for (;;) {
      const token = tokens[position];
      if (token === "*") {
        position++;
        value = multiplyRationals(value, factor());
      } else if (token === "/") {
        position++;
        const { numerator, denominator } = factor();
        value = multiplyRationals(value, rational(denominator, numerator));
      } else if (token === "(" || (token !== undefined && /[a-z]/.test(token))) {
        value = multiplyRationals(value, factor());
      } else return value;
    }
  }

  function factor(): Rational {
    const token = tokens[position++];
    if (token === "-") return negateRational(factor());
    if (token === "(") {
      const value = sum();
      if (tokens[position++] !== ")") throw new Error(`A parenthesis is open in ${text}.`);
      return value;
    }
    const value = token === undefined ? undefined : /\d/.test(token) ? rational(BigInt(token)) : variables[token];
    if (value === undefined) throw new Error(`No value at ${token} in ${text}.`);
    return value;
  }

  const value = sum();
  if (position !== tokens.length) throw new Error(`Something follows the expression in ${text}.`);
  return value;
}

/** Returns whether an equation or inequality is true. */
export function holds(statement: string, variables: Readonly<Record<string, Rational>> = {}): boolean {
  const [left, relation, right] = statement.split(/(<=|>=|<|>|=)/) as [string, string, string];
  const [a, b] = [evaluate(left, variables), evaluate(right, variables)];
  const difference = a.numerator * b.denominator - b.numerator * a.denominator;
  switch (relation) {
    case "=":
      return difference === 0n;
    case "<":
      return difference < 0n;
    case "<=":
      return difference <= 0n;
    case ">":
      return difference > 0n;
    case ">=":
      return difference >= 0n;
    default:
      throw new Error(`No relation in ${statement}.`);
  }
}
