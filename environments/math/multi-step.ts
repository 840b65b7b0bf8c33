import type { ProblemGenerator } from "./math-problem.ts";

/**
 * A chain of definitions, each made from earlier ones: `a = 4 + 9, b = a * 3, ...`. It has `difficulty` + 1 of them,
 * and asks for the last. Numbers stay small; what is hard is to keep track.
 */
export const multiStepGenerator: ProblemGenerator = (random, difficulty) => {
  const names = [..."abcdefgh"];
  const values: number[] = [random.integer(1, 20)];
  const definitions: string[] = [`a = ${values[0]}`];
  const steps: string[] = [];
  for (let i = 1; i <= difficulty + 1; i++) {
    // Mostly the one just defined; at higher difficulty an earlier one may come back, but not in the last.
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
