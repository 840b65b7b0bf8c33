import type { AgentId } from "../../contract/action.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import { checkCount } from "./rollout-options.ts";

const defaultMaxNodes = 1_000;
const defaultMaxJointActions = 10_000;

/**
 * How the completions of several agents become joint actions, and what follows a joint action. With one agent, `align`
 * and `cross` are the same; with one turn, `tree` and `handoff` are, and both give the completions of a group.
 */
export interface JointShape {
  /** G: completions that each acting agent samples in a node. */
  readonly groupSize: number;
  /** `align`: the G joint actions of equal index; `cross`: all G^n of n acting agents. */
  readonly mode: "align" | "cross";
  /** `tree`: every joint action goes on in a node of its own; `handoff`: one does. */
  readonly turns: "tree" | "handoff";
  /**
   * Which joint action is handed on, of those that can go on and were scored (the unscored only where none was).
   * `random` by default; `best`: the highest {@link jointValue}, the first of equals; `randomIndependent`: a completion
   * of each agent, picked apart, so that the pair may be one that was not played.
   */
  readonly handoff?: "random" | "best" | "randomIndependent";
  /**
   * Frozen agents: their completions are samples of what the others play with, and are compared with nothing. Under
   * `align` each completes one joint action; under `cross` every completion of the others meets all G of them. Their
   * rewards do not count in {@link jointValue}, and a node in which only they act has one joint action. None by default.
   */
  readonly partners?: readonly AgentId[];
  /** A node whose mean scored {@link jointValue} exceeds it becomes a leaf. None by default. */
  readonly terminationThreshold?: number;
  /** The most nodes that a tree may come to have ({@link countJointNodes}); 1,000 by default. */
  readonly maxNodes?: number;
  /** The most joint actions that a tree may come to play; 10,000 by default. */
  readonly maxJointActions?: number;
}

/** How large a rollout may become. */
export interface JointSize {
  readonly shape: Pick<JointShape, "groupSize" | "mode" | "turns">;
  /** How many agents act at once. */
  readonly agents: number;
  /** The most steps of an episode. */
  readonly maxTurns: number;
}

/**
 * The most nodes of one task: with K joint actions a node, 1 + K + ... + K^(maxTurns - 1) for a `tree`, `maxTurns` for
 * a `handoff`. Each samples `groupSize` completions of every agent. Nodes in which only partners act are counted like
 * the others: which these are is not known before.
 */
export function countJointNodes({ shape, agents, maxTurns }: JointSize): number {
  const branches = shape.turns === "tree" ? jointActionsPerNode(shape, agents) : 1;
  if (branches === 1) return maxTurns;
  let nodes = 0;
  let level = 1;
  for (let turn = 0; turn < maxTurns && Number.isFinite(nodes); turn++) {
    nodes += level;
    level *= branches;
  }
  return nodes;
}

/** K, the joint actions of a node: G for `align`, G^agents for `cross`. */
export function jointActionsPerNode({ mode, groupSize }: JointSize["shape"], agents: number): number {
  return mode === "align" ? groupSize : groupSize ** agents;
}

/** Refuses a shape that cannot be played or may become too large, with `config.invalid`. */
export function checkJointShape(shape: JointShape, { agents, maxTurns }: Omit<JointSize, "shape">): void {
  const { groupSize, mode, turns, handoff, terminationThreshold } = shape;
  checkCount("The shape's groupSize", groupSize);
  checkOneOf("mode", mode, ["align", "cross"]);
  checkOneOf("turns", turns, ["tree", "handoff"]);
  if (handoff !== undefined) {
    checkOneOf("handoff", handoff, ["random", "best", "randomIndependent"]);
    if (turns === "tree") {
      throw invalid({
        message: `The shape hands on by "${handoff}", and its turns are a tree, where nothing is handed on.`,
        hint: 'Leave handoff out, or set turns to "handoff".',
      });
    }
  }
  if (Number.isNaN(terminationThreshold)) throw invalid({ message: "The shape's terminationThreshold is no number." });
  const maxNodes = checkCount("The shape's maxNodes", shape.maxNodes ?? defaultMaxNodes);
  const maxJointActions = checkCount("The shape's maxJointActions", shape.maxJointActions ?? defaultMaxJointActions);
  const nodes = countJointNodes({ shape, agents, maxTurns });
  const jointActions = nodes * jointActionsPerNode(shape, agents);
  const what = `${mode} of ${groupSize} completions of ${agents} agents over ${maxTurns} turns`;
  if (nodes > maxNodes) {
    throw invalid({
      message: `A ${turns} rollout (${what}) may have ${nodes} nodes a task, and its maxNodes is ${maxNodes}.`,
      hint: 'Lower groupSize or the limit of turns, use "align" or "handoff", or raise maxNodes.',
      data: { nodes, maxNodes },
    });
  }
  if (jointActions > maxJointActions) {
    throw invalid({
      message: `A ${turns} rollout (${what}) may play ${jointActions} joint actions a task, and its maxJointActions is ${maxJointActions}.`,
      hint: 'Lower groupSize or the limit of turns, use "align", or raise maxJointActions.',
      data: { jointActions, maxJointActions },
    });
  }
}

/** The completions of each agent in a node in which these agents act: G, or 1 if they are all partners. */
export function completionsPerNode(
  { groupSize, partners = [] }: Pick<JointShape, "groupSize" | "partners">,
  agents: readonly AgentId[],
): number {
  return agents.every((agent) => partners.includes(agent)) ? 1 : groupSize;
}

/** The joint actions of a node in which these agents act, the last agent's index running fastest. */
export function jointChoices(
  shape: Pick<JointShape, "mode" | "groupSize" | "partners">,
  agents: readonly AgentId[],
): readonly Readonly<Record<AgentId, number>>[] {
  const { mode } = shape;
  const members = Array.from({ length: completionsPerNode(shape, agents) }, (_, member) => member);
  if (mode === "align") return members.map((member) => Object.fromEntries(agents.map((agent) => [agent, member])));
  return agents.reduce<readonly Readonly<Record<AgentId, number>>[]>(
    (choices, agent) => choices.flatMap((choice) => members.map((member) => ({ ...choice, [agent]: member }))),
    [{}],
  );
}

function checkOneOf(name: string, value: string, known: readonly string[]): void {
  if (known.includes(value)) return;
  throw invalid({
    message: `The shape's ${name} must be one of ${known.map((one) => `"${one}"`).join(", ")}, got ${JSON.stringify(value)}.`,
  });
}

function invalid(options: Omit<ConstructorParameters<typeof LyceumError>[0], "code">): LyceumError {
  return new LyceumError({ code: "config.invalid", ...options });
}
