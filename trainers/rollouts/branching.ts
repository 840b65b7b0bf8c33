import type { AgentId } from "../../src/contract/action.ts";
import type { EnvironmentSpec } from "../../src/contract/environment.ts";
import type { JointShape } from "../../src/core/rollout/joint-shape.ts";
import type { Algorithm } from "../algorithms/index.ts";

/**
 * Returns how many completions each agent samples per turn, how they are combined to joint actions, and how later turns
 * continue. Returns undefined if the episodes of a group are independent: the algorithm has no joint actions, or the
 * environment has one turn in which branching changes nothing (mode `align`, or a single agent).
 */
export function branching(
  { rollout }: Algorithm,
  { spec, frozen }: { readonly spec: EnvironmentSpec; readonly frozen: readonly AgentId[] },
): JointShape | undefined {
  const { joint, groupSize } = rollout;
  const { agents, maxTurns } = spec;
  if (joint === undefined) return undefined;
  if (maxTurns === 1 && (joint.mode === "align" || agents.length === 1)) return undefined;
  return { groupSize, ...joint, ...(frozen.length === 0 ? {} : { partners: frozen }) };
}
