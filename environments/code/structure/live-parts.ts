import type { CodeNode } from "./code-tree.ts";
import { isFunction, nodesOf, partsOf, walk } from "./node-parts.ts";

/** Returns the parts of a node that may run: none after a statement that leaves, and none that a constant rules out. */
export function liveParts(node: CodeNode): readonly CodeNode[] {
  const dead = new Set<CodeNode>();
  const truth = truthOf(nodesOf(node.test)[0]);
  if (truth === true) for (const part of nodesOf([node.orelse, node.alternate].flat())) dead.add(part);
  if (truth === false) for (const part of nodesOf([node.body, node.consequent].flat())) dead.add(part);
  const [first, ...others] = nodesOf(node.values ?? [node.left, node.right]);
  const stops = { "||": true, Or: true, "&&": false, And: false }[operatorOf(node)];
  if (stops !== undefined && truthOf(first) === stops) for (const other of others) dead.add(other);
  for (const list of Object.values(node).filter(Array.isArray)) {
    const last = nodesOf(list).findIndex(leaves);
    if (last !== -1) for (const part of nodesOf(list).slice(last + 1)) if (!isFunction(part)) dead.add(part);
  }
  return partsOf(node).filter((part) => !dead.has(part));
}

function operatorOf({ operator, op }: CodeNode): string {
  return String(operator ?? nodesOf(op)[0]?.type);
}

/** True if no statement after this one in its block runs. */
function leaves(node: CodeNode): boolean {
  if (/^(Return|Raise|Throw|Break|Continue)/.test(node.type)) return true;
  const ends = (part: unknown): boolean => nodesOf(part).some(leaves);
  if (/^If/.test(node.type)) return ends(node.body ?? node.consequent) && ends(node.orelse ?? node.alternate);
  if (node.type === "With" || node.type === "BlockStatement") return ends(node.body);
  const isEndless =
    /^(While|For)(Statement)?$/.test(node.type) && (truthOf(nodesOf(node.test)[0]) ?? node.test === null);
  return isEndless && !walk(node, { nested: false }).some(({ type }) => type.startsWith("Break"));
}

/** Returns the truth of a constant. */
function truthOf(node: CodeNode | undefined): boolean | undefined {
  if (node?.type === "Constant" || node?.type === "Literal") return Boolean(node.value ?? node.regex ?? node.bigint);
  if (node === undefined || !/^(Not|!)$/.test(operatorOf(node))) return undefined;
  const truth = truthOf(nodesOf(node.operand ?? node.argument)[0]);
  return truth === undefined ? undefined : !truth;
}
