import { normalLatex } from "./normal-latex.ts";

const longestQuestion = 5_000;
const formula = /\$\$([\s\S]+?)\$\$|\$([^$]+)\$|\\\(([\s\S]+?)\\\)|\\\[([\s\S]+?)\\\]/g;
const tuple = /\(\s*((?:\\?[A-Za-z]+(?:_\{?\w+\}?)?\s*,\s*)+\\?[A-Za-z]+(?:_\{?\w+\}?)?)\s*\)/g;

/** True if the question contains this expression as a separate formula, as in "Find $a + b$". */
export function isAskedFormula(expression: string, question: string): boolean {
  const wanted = bare(expression);
  return Array.from(question.slice(0, longestQuestion).matchAll(formula), (match) =>
    bare(
      match
        .slice(1)
        .find((part) => part !== undefined)!
        .replace(/[.,?!]\s*$/, ""),
    ),
  ).includes(wanted);
}

/**
 * Returns the names in the order of a tuple in the question, such as `(n, k)`. Undefined if the question has no such
 * tuple, or tuples in different orders.
 */
export function askedOrder(names: readonly string[], question: string): readonly string[] | undefined {
  const wanted = [...names].sort().join();
  const orders = new Map<string, readonly string[]>();
  for (const [, list] of normalLatex(question.slice(0, longestQuestion)).matchAll(tuple)) {
    const order = list!.split(",").map((name) => name.trim());
    if ([...order].sort().join() === wanted) orders.set(order.join(), order);
  }
  return orders.size === 1 ? [...orders.values()][0] : undefined;
}

function bare(text: string): string {
  return normalLatex(text).replace(/\s+/g, "");
}
