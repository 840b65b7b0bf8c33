import type { ProblemGenerator } from "./math-problem.ts";

/**
 * Generates a chain of `difficulty` + 1 definitions that refer to earlier ones, such as `a = 4 + 9, b = a * 3, ...`,
 * and asks for the last. Numbers stay small. The difficulty is to keep track.
 */
export const multiStepGenerator: ProblemGenerator = (random, difficulty) => {
  const names = [..."abcdefgh"];
  const values: number[] = [random.integer(1, 20)];
  const definitions: string[] = [`a = ${values[0]}`];
  const steps: string[] = [];
  for (let i = 1; i <= difficulty + 1; i++) {
    // The source is mostly the previous definition. From difficulty 3 on, it may be an earlier one, except in the last
    // definition.
    const isLast = i === difficulty + 1;
    const source = difficulty >= 3 && !isLast && random.next() < 0.4 ? random.integer(0, i - 1) : i - 1;
    const value = values[source]!;
    const twoNames = difficulty >= 2 && i >= 2 && random.next() < 0.4;
    const other = twoNames ? random.integer(0, i - 2) : undefined;
    const operand = other === undefined ? random.integer(2, 9) : values[other]!;
    const symbol =
      Math.abs(value) > 99 || Math.abs(operand) > 20 ? random.pick(["+", "-"]) : random.pick(["+", "-", "*"]);
    const result = symbol === "+" ? value + operand : symbol === "-" ? value - operand : value * operand;
    const right = other === undefined ? String(operand) : names[other]!;
    definitions.push(`${names[i]} = ${names[source]} ${symbol} ${right}`);
    steps.push(`${names[i]} = ${value} ${symbol} ${operand < 0 ? `(${operand})` : operand} = ${result}`);
    values.push(result);
  }
  const last = names[difficulty + 1]!;
  return {
    kind: "multi-step",
    difficulty,
    question: `Let ${definitions.join(", ")}. What is ${last}?`,
    terse: `${definitions.join(",").replaceAll(" ", "")},${last}=`,
    steps: [definitions[0]!, ...steps],
    answer: String(values.at(-1)!),
  };
};
