import type { MathNode } from "mathjs";
import { z } from "zod";
import { defineTool, type Tool } from "../../src/core/tools/tool.ts";

const maximumLength = 500;
const maximumDepth = 40;

/** Numeric functions that always terminate quickly. */
const functions = new Set(
  [
    "abs cbrt ceil exp fix floor gcd hypot lcm log log10 log2 max min mod pow round sign sqrt",
    "sin cos tan asin acos atan atan2 sinh cosh tanh factorial",
  ].flatMap((names) => names.split(" ")),
);
const constants = new Set(["pi", "e", "tau", "phi"]);
const operators = new Set(["+", "-", "*", "/", "^", "%", "!"]);

/**
 * A calculator for one expression of numbers with `+ - * / ^ % !`, parentheses, functions such as `sqrt` and constants
 * such as `pi`. Numbers are doubles, so whole numbers are exact up to 2^53. It does not run code and has no variables,
 * lists, units or texts, so every expression terminates. A result that is not a finite number is an error.
 */
export const calculatorTool: Tool = defineTool({
  description:
    "Works out an arithmetic expression such as (3 + 4) * sqrt(2)^3. Operators: + - * / ^ % (remainder) !. " +
    `Functions: ${[...functions].join(", ")}. Constants: ${[...constants].join(", ")}. Angles are in radians.`,
  inputSchema: z.strictObject({ expression: z.string().min(1).max(maximumLength) }),
  execute: ({ expression }) => calculate(expression),
});

/** Returns the value of an expression as text. Rejects with an error that describes the problem. */
export async function calculate(expression: string): Promise<string> {
  const { parse } = await import("mathjs/number");
  checkNesting(expression);
  let node: MathNode;
  try {
    node = parse(expression.replaceAll("**", "^"));
  } catch (error) {
    throw new Error(
      `this is not an expression: ${error instanceof RangeError ? "too many brackets" : messageOf(error)}`,
    );
  }
  checkNode(node, 0);
  const value: unknown = node.compile().evaluate({});
  if (typeof value !== "number" || !Number.isFinite(value)) {
    throw new Error("the result is not a finite number: it is undefined or too large.");
  }
  return showNumber(value);
}

/** Formats a number with 15 digits, so that 0.1 + 0.2 is 0.3. Whole numbers keep all digits. */
function showNumber(value: number): string {
  return String(Number.isSafeInteger(value) ? value : Number(value.toPrecision(15)));
}

/** Limits the nesting before parsing, because the parser recurses at each bracket or sign. */
function checkNesting(expression: string): void {
  if (expression.length > maximumLength) throw new Error(`an expression has at most ${maximumLength} characters.`);
  let depth = 0;
  for (const character of expression) {
    if (character === "(") depth++;
    if (character === ")") depth--;
    if (depth > maximumDepth) throw new Error(`an expression has at most ${maximumDepth} levels of brackets.`);
  }
}

/** Throws unless an expression contains only numbers, known names, operators and calls of known functions. */
function checkNode(node: MathNode, depth: number): void {
  if (depth > maximumLength) throw new Error("the expression is nested too deeply.");
  if (!isAllowed(node)) throw new Error(refusal(node));
  const children = node.type === "FunctionNode" ? (node as unknown as { args: MathNode[] }).args : childrenOf(node);
  for (const child of children) checkNode(child, depth + 1);
}

function isAllowed(node: MathNode): boolean {
  const { value, name, op, fn } = node as unknown as Record<string, unknown>;
  switch (node.type) {
    case "ConstantNode":
      return typeof value === "number";
    case "ParenthesisNode":
      return true;
    case "SymbolNode":
      return constants.has(name as string);
    case "OperatorNode":
      return operators.has(op as string);
    case "FunctionNode":
      return (fn as MathNode).type === "SymbolNode" && functions.has((fn as unknown as { name: string }).name);
    default:
      return false;
  }
}

function refusal(node: MathNode): string {
  const names = `Known functions: ${[...functions].join(", ")}; constants: ${[...constants].join(", ")}.`;
  return `"${node.toString().slice(0, 60)}" is not allowed: only numbers, + - * / ^ % ! and brackets. ${names}`;
}

function childrenOf(node: MathNode): MathNode[] {
  const children: MathNode[] = [];
  node.forEach((child) => {
    children.push(child);
  });
  return children;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
