import type { Random } from "../../src/core/random/random.ts";
import { callMessage } from "../../src/core/tools/call-message.ts";
import { type Fact, facts } from "./documents.ts";
import { answerText, type TaskGenerator } from "./tools-task.ts";

/**
 * Returns a generator of tasks that combine facts of several documents. With `calculator`, the calculator is required,
 * too.
 */
export function searchTask(options: { readonly calculator: boolean }): TaskGenerator {
  return (random) => {
    const [a, b, c] = threeFacts(random);
    const [asked, expression, value] = random.pick([
      [`${times(a, b)} and add ${c.phrase}`, `${a.value} * ${b.value} + ${c.value}`, a.value * b.value + c.value],
      [`${times(a, b)} and subtract ${c.phrase}`, `${a.value} * ${b.value} - ${c.value}`, a.value * b.value - c.value],
      [
        `Add ${a.phrase} and ${b.phrase} and multiply the sum by ${c.phrase}`,
        `(${a.value} + ${b.value}) * ${c.value}`,
        (a.value + b.value) * c.value,
      ],
    ] as const);
    const answer = String(value);
    return {
      kind: "search",
      question: `${asked}. What is the result?`,
      answer,
      tools: ["web_search", ...(options.calculator ? ["calculator"] : [])],
      solution: [
        callMessage(...[a, b, c].map(({ title, phrase }) => ["web_search", { query: `${title}: ${phrase}` }] as const)),
        ...(options.calculator ? [callMessage(["calculator", { expression }])] : []),
        answerText(answer),
      ],
    };
  };
}

function times(a: Fact, b: Fact): string {
  return `Multiply ${a.phrase} by ${b.phrase}`;
}

function threeFacts(random: Random): readonly [Fact, Fact, Fact] {
  const first = random.pick(facts);
  const second = random.pick(facts.filter(({ title }) => title !== first.title));
  const third = random.pick(facts.filter(({ title }) => title !== first.title && title !== second.title));
  return [first, second, third];
}
