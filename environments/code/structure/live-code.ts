import type { CodeNode } from "./code-tree.ts";
import { definitionOf, isClass, isFunction, nameOf, nodesOf, partsOf, targetsOf, walk } from "./node-parts.ts";

/** The nodes of a module that may run, and the reads of its names. */
export class LiveCode {
  /** The nodes that may run, with their parents. Names that are assigned are not among them. */
  readonly parents = new Map<CodeNode, CodeNode | undefined>();
  readonly #reads = new Map<string, CodeNode[]>();
  readonly #targets = new Set<CodeNode>();
  /** The functions and classes by name, with their parents, of names that no code has read so far. */
  readonly #unread = new Map<string, (readonly [CodeNode, CodeNode])[]>();

  /** `entry` is the function that others call. */
  constructor(module: CodeNode, entry: string) {
    this.#reads.set(entry, []);
    this.#visit(module, undefined);
  }

  reads(name: string): readonly CodeNode[] {
    return this.#reads.get(name) ?? [];
  }

  /** Returns the nodes around a node, from the inside to the outside. */
  *around(node: CodeNode): Generator<CodeNode> {
    for (let at = this.parents.get(node); at !== undefined; at = this.parents.get(at)) yield at;
  }

  #visit(node: CodeNode, parent: CodeNode | undefined): void {
    if (this.#targets.has(node) || this.parents.has(node)) return;
    const defined = parent !== undefined && !isClass(parent) ? definitionOf(node) : undefined;
    if (defined !== undefined && !this.#reads.has(defined.name)) {
      this.#unread.set(defined.name, [...(this.#unread.get(defined.name) ?? []), [node, parent!]]);
      return;
    }
    this.parents.set(node, parent);
    for (const target of targetsOf(node)) if (nameOf(target) !== undefined) this.#targets.add(target);
    const name = nameOf(node);
    if (name !== undefined) {
      this.#reads.set(name, [...this.reads(name), node]);
      for (const [unread, above] of this.#unread.get(name) ?? []) this.#visit(unread, above);
    }
    for (const part of liveParts(node)) this.#visit(part, node);
  }
}

/** Returns the parts of a node that may run: none after a statement that leaves, and none that a constant rules out. */
function liveParts(node: CodeNode): readonly CodeNode[] {
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
  if (/^(Return|Raise|Throw|Break|Continue)(Statement)?$/.test(node.type)) return true;
  const [yes, no] = [node.body ?? node.consequent, node.orelse ?? node.alternate].map((part) =>
    nodesOf(part).some(leaves),
  );
  if (/^If/.test(node.type)) return yes! && no!;
  if (node.type === "With" || node.type === "BlockStatement") return yes!;
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
