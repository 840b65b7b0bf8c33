import type { AgentId } from "../../src/contract/action.ts";
import type { EnvironmentSpec } from "../../src/contract/environment.ts";
import type { JointShape } from "../../src/core/rollout/joint-shape.ts";
import type { Algorithm } from "../algorithms/index.ts";

/**
 * Returns how the joint actions of an environment branch with an algorithm. Returns undefined if episodes are
 * independent, or if branching would make no difference: one turn, with completions of equal index acting together.
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
