import type { AgentId } from "../../contract/action.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import { checkCount } from "./rollout-options.ts";

const defaultMaxNodes = 1_000;
const defaultMaxJointActions = 10_000;

/**
 * Defines how the completions of several agents are combined to joint actions, and which joint actions continue. For
 * one agent, `align` and `cross` are equal. For one turn, `tree` and `handoff` are equal: both give the completions of
 * a group.
 */
export interface JointShape {
  /** G, the number of completions of each acting agent in a node. */
  readonly groupSize: number;
  /**
   * `align`: G joint actions, of the completions with equal index. `cross`: all G^n combinations of n acting agents.
   */
  readonly mode: "align" | "cross";
  /** `tree`: each joint action continues in its own node. `handoff`: only one joint action continues. */
  readonly turns: "tree" | "handoff";
  /**
   * The choice of the joint action that continues. Unscored joint actions are chosen only if none is scored. `random`
   * (the default): a random one. `best`: the first one with the highest {@link jointValue}. `randomIndependent`: an
   * independently drawn completion of each agent, so the combination may be one that was not played.
   */
  readonly handoff?: "random" | "best" | "randomIndependent";
  /**
   * Frozen agents. Their completions are not compared with each other. With `align`, each of them belongs to one joint
   * action. With `cross`, each completion of the other agents is combined with all G of them. Their rewards do not
   * count in {@link jointValue}. A node in which only they act has one joint action. None by default.
   */
  readonly partners?: readonly AgentId[];
  /** A node becomes a leaf if the mean of its scored {@link jointValue}s is above this threshold. None by default. */
  readonly terminationThreshold?: number;
  /** The maximum number of nodes of a tree (see {@link countJointNodes}). 1,000 by default. */
  readonly maxNodes?: number;
  /** The maximum number of joint actions of a tree. 10,000 by default. */
  readonly maxJointActions?: number;
}

/** The parameters that determine the size of a tree. */
export interface JointSize {
  readonly shape: Pick<JointShape, "groupSize" | "mode" | "turns">;
  /** The number of agents that act at once. */
  readonly agents: number;
  /** The maximum number of steps of an episode. */
  readonly maxTurns: number;
}

/**
 * Returns the maximum number of nodes of one task. For K joint actions per node, it is
 * 1 + K + ... + K^(maxTurns - 1) for `tree`, and `maxTurns` for `handoff`. Each node samples `groupSize` completions of
 * each agent. Nodes in which only partners act count like others, because they are not known in advance.
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

/** Returns K, the number of joint actions of a node: G for `align`, G^agents for `cross`. */
export function jointActionsPerNode({ mode, groupSize }: JointSize["shape"], agents: number): number {
  return mode === "align" ? groupSize : groupSize ** agents;
}

/** Throws `config.invalid` if a shape is invalid or its trees can become too large. */
export function checkJointShape(shape: JointShape, { agents, maxTurns }: Omit<JointSize, "shape">): void {
  const { groupSize, mode, turns, handoff, terminationThreshold } = shape;
  checkCount("The shape's groupSize", groupSize);
  checkOneOf("mode", mode, ["align", "cross"]);
  checkOneOf("turns", turns, ["tree", "handoff"]);
  if (handoff !== undefined) {
    checkOneOf("handoff", handoff, ["random", "best", "randomIndependent"]);
    if (turns === "tree") {
      throw invalid({
        message: `The shape has handoff "${handoff}", but its turns are "tree", which does not use handoff.`,
        hint: 'Omit handoff, or set turns to "handoff".',
      });
    }
  }
  if (Number.isNaN(terminationThreshold))
    throw invalid({ message: "The shape's terminationThreshold is not a number." });
  const maxNodes = checkCount("The shape's maxNodes", shape.maxNodes ?? defaultMaxNodes);
  const maxJointActions = checkCount("The shape's maxJointActions", shape.maxJointActions ?? defaultMaxJointActions);
  const nodes = countJointNodes({ shape, agents, maxTurns });
  const jointActions = nodes * jointActionsPerNode(shape, agents);
  const what = `${mode} of ${groupSize} completions of ${agents} agents over ${maxTurns} turns`;
  if (nodes > maxNodes) {
    throw invalid({
      message: `A ${turns} rollout (${what}) can have ${nodes} nodes per task, but its maxNodes is ${maxNodes}.`,
      hint: 'Lower groupSize or the limit of turns, use "align" or "handoff", or raise maxNodes.',
      data: { nodes, maxNodes },
    });
  }
  if (jointActions > maxJointActions) {
    throw invalid({
      message: `A ${turns} rollout (${what}) can play ${jointActions} joint actions per task, but its maxJointActions is ${maxJointActions}.`,
      hint: 'Lower groupSize or the limit of turns, use "align", or raise maxJointActions.',
      data: { jointActions, maxJointActions },
    });
  }
}

/** Returns the number of completions of each agent in a node with these acting agents: G, or 1 if all are partners. */
export function completionsPerNode(
  { groupSize, partners = [] }: Pick<JointShape, "groupSize" | "partners">,
  agents: readonly AgentId[],
): number {
  return agents.every((agent) => partners.includes(agent)) ? 1 : groupSize;
}

/** Returns the joint actions of a node with these acting agents. The last agent's index varies fastest. */
export function jointChoices(
  shape: Pick<JointShape, "mode" | "groupSize" | "partners">,
  agents: readonly AgentId[],
): readonly Readonly<Record<AgentId, number>>[] {
  const { mode } = shape;
  const completions = Array.from({ length: completionsPerNode(shape, agents) }, (_, index) => index);
  if (mode === "align") return completions.map((index) => Object.fromEntries(agents.map((agent) => [agent, index])));
  return agents.reduce<readonly Readonly<Record<AgentId, number>>[]>(
    (choices, agent) => choices.flatMap((choice) => completions.map((index) => ({ ...choice, [agent]: index }))),
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
