import type { ErrorData } from "../../../src/contract/errors/index.ts";
import { type CodeNode, type CodeTree, readCode, type SourceOptions } from "./code-tree.ts";
import { type HelperUsage, helperUsage } from "./helper-usage.ts";
import { definitionOf, nodesOf, returnedBy, walk } from "./node-parts.ts";

/** The findings in the syntax tree of one agent's code. */
export interface AgentStructure {
  /** The reason why the code does not parse, with line and column; absent if it parses. */
  readonly problem?: string;
  /** True if the code defines the expected function. */
  readonly defined: boolean;
  /** True if that function returns a value. */
  readonly returns: boolean;
}

/** The findings in the syntax trees of both agents' code. `entry` of {@link HelperUsage} is main's function. */
export interface PairStructure extends HelperUsage {
  readonly aux: AgentStructure;
  readonly main: AgentStructure;
}

/** The name of aux's function. */
export const auxName = "aux";

/**
 * Analyses the code of both agents without running it. Resolves with an error if the sandbox fails. Rejects with the
 * signal's reason.
 */
export async function pairStructure(
  options: Omit<SourceOptions, "source"> & Readonly<Record<"aux" | "main" | "entryPoint", string>>,
): Promise<PairStructure | { readonly error: ErrorData }> {
  const { aux, main, entryPoint, ...rest } = options;
  const [auxTree, mainTree] = await Promise.all([aux, main].map((source) => readCode({ ...rest, source })));
  if ("error" in auxTree!) return auxTree;
  if ("error" in mainTree!) return mainTree;
  const agents = { aux: agentStructure(auxTree!, auxName), main: agentStructure(mainTree!, entryPoint) };
  const body = "body" in mainTree! && agents.main.defined ? mainTree.body : [];
  try {
    return { ...agents, ...helperUsage(body, entryPoint, auxName) };
  } catch (error) {
    // The code is nested too deeply for the stack.
    if (error instanceof RangeError) return { ...agents, ...helperUsage([], entryPoint, auxName) };
    throw error;
  }
}

function agentStructure(tree: CodeTree, name: string): AgentStructure {
  if ("problem" in tree) return { ...tree, defined: false, returns: false };
  const nodes = [...walk({ type: "Module", body: tree.body }, { nested: false })];
  const found = nodes.flatMap((node) => definitionOf(node) ?? []).findLast((one) => one.name === name)?.value;
  return { defined: found !== undefined, returns: found !== undefined && givesValue(found) };
}

/** True if a function returns or yields a value. */
function givesValue(fn: CodeNode): boolean {
  if (returnedBy(fn) !== undefined) return true;
  return walk(fn, { nested: false }).some(({ type, value, argument }) => {
    return type.startsWith("Yield") || (type.startsWith("Return") && nodesOf(value ?? argument).length > 0);
  });
}
