import type { CapturedCall } from "./captured-call.ts";

/** A call in the tree of its session. A call whose tokens extend those of another call is its child. */
export interface CallNode {
  readonly call: CapturedCall;
  readonly index: number;
  readonly parent: CallNode | undefined;
  readonly children: CallNode[];
}

/** Builds the tree of a session's calls, in order. */
export function callTree(calls: readonly CapturedCall[]): readonly CallNode[] {
  const nodes: CallNode[] = [];
  for (const [index, call] of calls.entries()) {
    const parent = call.continues === undefined || call.rerendered ? undefined : nodes[call.continues];
    const node: CallNode = { call, index, parent, children: [] };
    parent?.children.push(node);
    nodes.push(node);
  }
  return nodes;
}

/** Returns the calls from the first one of the conversation to this one. */
export function pathTo(leaf: CallNode): readonly CallNode[] {
  const path: CallNode[] = [];
  for (let node: CallNode | undefined = leaf; node !== undefined; node = node.parent) path.unshift(node);
  return path;
}

/**
 * Returns the calls whose answers the client dropped: an answer without a continuation, if another answer to the same
 * prompt has one.
 */
export function discardedCalls(nodes: readonly CallNode[]): ReadonlySet<CallNode> {
  const siblings = new Map<string, CallNode[]>();
  for (const node of nodes) {
    const { tokens, messages } = node.call;
    const key = JSON.stringify([node.parent?.index ?? null, tokens?.newPromptIds ?? messages]);
    siblings.set(key, [...(siblings.get(key) ?? []), node]);
  }
  const discarded = new Set<CallNode>();
  for (const group of siblings.values()) {
    if (!group.some(({ children }) => children.length > 0)) continue;
    for (const node of group) if (node.children.length === 0) discarded.add(node);
  }
  return discarded;
}

/** The counts of a tree, as OpenEnv names them. */
export interface TreeCounts {
  readonly n_turns: number;
  readonly n_roots: number;
  readonly n_leaves: number;
  readonly n_forks: number;
  readonly n_discarded: number;
}

/** Counts the calls of a tree. */
export function treeCounts(nodes: readonly CallNode[]): TreeCounts {
  const count = (test: (node: CallNode) => boolean): number => nodes.filter(test).length;
  return {
    n_turns: nodes.length,
    n_roots: count(({ parent }) => parent === undefined),
    n_leaves: count(({ children }) => children.length === 0),
    n_forks: count(({ children }) => children.length > 1),
    n_discarded: discardedCalls(nodes).size,
  };
}
