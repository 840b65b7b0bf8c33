import { callMessage } from "../../src/core/tools/call-message.ts";
import { answerText, type TaskGenerator } from "./tools-task.ts";

/** Arithmetic on numbers too long for mental calculation. The calculator is exact on them. */
export const arithmeticTask: TaskGenerator = (random) => {
  const digits = (count: number): bigint => BigInt(random.integer(10 ** (count - 1), 10 ** count - 1));
  const [a, b, c, d] = [digits(6), digits(6), digits(5), digits(4)];
  const [expression, value] = random.pick([
    [`${a} * ${b} - ${c}`, a * b - c],
    [`${a} * ${c} + ${b} * ${d}`, a * c + b * d],
    [`(${a} + ${b}) * (${c} - ${d})`, (a + b) * (c - d)],
    [`${c}^3 - ${a} * ${d}`, c ** 3n - a * d],
    [`(${a} * ${b}) % ${c}`, (a * b) % c],
  ] as const);
  const asked = expression.replace(/^\((.*)\) % (\d+)$/, "the remainder of $1 divided by $2");
  const answer = String(value);
  return {
    kind: "arithmetic",
    question: `What is ${asked}?`,
    answer,
    tools: ["calculator"],
    solution: [callMessage(["calculator", { expression }]), answerText(answer)],
  };
};
