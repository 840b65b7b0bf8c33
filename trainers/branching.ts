import type { EnvironmentSpec } from "../src/environment/environment.ts";
import type { JointShape } from "../src/rollout/joint-shape.ts";
import type { Algorithm } from "./algorithms/index.ts";

/**
 * How the joint actions of an environment branch under an algorithm. Undefined where its episodes are independent, or
 * where the shape comes to the same: one turn whose completions act together by index.
 */
export function branching({ rollout }: Algorithm, { agents, maxTurns }: EnvironmentSpec): JointShape | undefined {
  const { joint, groupSize } = rollout;
  if (joint === undefined) return undefined;
  if (maxTurns === 1 && (joint.mode === "align" || agents.length === 1)) return undefined;
  return { groupSize, ...joint };
}
