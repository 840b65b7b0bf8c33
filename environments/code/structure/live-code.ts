import type { CodeNode } from "./code-tree.ts";
import { isFunction, nameOf, nodesOf, partsOf } from "./node-parts.ts";

/** Returns the parts of a node that may run: none after a statement that leaves, and none that a constant rules out. */
export function liveParts(node: CodeNode): readonly CodeNode[] {
  const truth = truthOf(nodesOf(node.test)[0]);
  const dead = new Set<unknown>();
  if (truth === true) dead.add(node.orelse).add(node.alternate);
  if (truth === false && node.type !== "DoWhileStatement") dead.add(node.body).add(node.consequent);
  const operands = node.type === "BoolOp" ? nodesOf(node.values) : nodesOf([node.left, node.right]);
  const stops = { "||": true, Or: true, "&&": false, And: false }[operatorOf(node)];
  const last = operands.findIndex((operand) => stops !== undefined && truthOf(operand) === stops);
  if (last !== -1) for (const operand of operands.slice(last + 1)) dead.add(operand);
  for (const list of Object.values(node).filter(Array.isArray)) {
    const after = list.slice(1 + (list.findIndex((part) => part && leaves(part)) + 1 || list.length) - 1);
    for (const part of after) if (part && !isFunction(part)) dead.add(part);
  }
  const fields = Object.values(node)
    .filter((field) => dead.has(field))
    .flatMap(nodesOf);
  return partsOf(node).filter((part) => !dead.has(part) && !fields.includes(part));
}

function operatorOf({ operator, op, ops }: CodeNode): string {
  return String(operator ?? nodesOf([op, ops].flat())[0]?.type);
}

const isJump = /^(Return|Raise|Throw|Break|Continue)(Statement)?$/;

/** True if no statement after this one in its block runs. */
function leaves(node: CodeNode): boolean {
  if (isJump.test(node.type)) return true;
  const leaving = (field: unknown): boolean => nodesOf(field).some(leaves);
  const truth = truthOf(nodesOf(node.test)[0]);
  switch (node.type) {
    case "If":
    case "IfStatement": {
      const [yes, no] = [leaving(node.body ?? node.consequent), leaving(node.orelse ?? node.alternate)];
      return truth === undefined ? yes && no : truth ? yes : no;
    }
    case "While":
    case "WhileStatement":
    case "ForStatement":
      return (truth ?? node.test === null) && !breaks(node);
    case "Try":
    case "TryStatement": {
      const handlers = nodesOf(node.handlers ?? node.handler);
      return (
        leaving(node.finalbody ?? node.finalizer) ||
        (leaving(node.body ?? node.block) && handlers.every(({ body }) => leaving(body)))
      );
    }
    case "With":
    case "BlockStatement":
      return leaving(node.body);
    default:
      return false;
  }
}

/** True if `break` can leave the loop. */
function breaks(node: CodeNode): boolean {
  return partsOf(node).some(
    (part) => part.type.startsWith("Break") || (!/^(While|For|AsyncFor|Function)/.test(part.type) && breaks(part)),
  );
}

/** Returns the truth of a constant expression. */
function truthOf(node: CodeNode | undefined): boolean | undefined {
  if (node?.type === "Constant" || node?.type === "Literal") return Boolean(node.value ?? node.regex ?? node.bigint);
  if (node === undefined || nameOf(node) === "undefined") return node && false;
  const operator = operatorOf(node);
  if (operator === "Not" || operator === "!") {
    const truth = truthOf(nodesOf(node.operand ?? node.argument)[0]);
    return truth === undefined ? undefined : !truth;
  }
  const [left, right, ...others] = nodesOf([node.left, node.right, node.comparators].flat()).map(({ value }) => value);
  const isComparable = typeof left === typeof right && (typeof left === "number" || typeof left === "string");
  return others.length === 0 && isComparable ? comparisons(left as number, right as number)[operator] : undefined;
}

function comparisons(a: number, b: number): Readonly<Record<string, boolean>> {
  const [equal, unequal, less, atMost, more, atLeast] = [a === b, a !== b, a < b, a <= b, a > b, a >= b];
  const python = { Eq: equal, NotEq: unequal, Lt: less, LtE: atMost, Gt: more, GtE: atLeast };
  const javascript = { "===": equal, "==": equal, "!==": unequal, "!=": unequal };
  return { ...python, ...javascript, "<": less, "<=": atMost, ">": more, ">=": atLeast };
}
