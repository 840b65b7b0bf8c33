import type { AgentId } from "../src/contract/action.ts";
import type { EnvironmentSpec } from "../src/contract/environment.ts";
import type { JointShape } from "../src/core/rollout/joint-shape.ts";
import type { Algorithm } from "./algorithms/index.ts";

/**
 * How the joint actions of an environment branch under an algorithm. Undefined where its episodes are independent, or
 * where the shape comes to the same: one turn whose completions act together by index.
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
