import type { Reward } from "../../../src/contract/reward.ts";
import type { JointAction, JointNode, JointTree, TurnCandidate } from "../../../src/core/rollout/joint-action.ts";

/** A completion that is identified by its one id. */
function candidate(agent: string, id: number): TurnCandidate {
  return {
    sequences: [
      {
        agent,
        ids: [0, id],
        mask: [0, 1],
        logprobs: [0, -1],
        turns: [0, 0],
        temperature: 1,
        weightsVersion: 0,
      },
    ],
  };
}

/** A joint action of two agents with the same reward. */
export function joint(a: number, b: number, reward: Reward, child?: JointNode): JointAction {
  return { choice: { a, b }, rewards: { a: reward, b: reward }, ...(child === undefined ? {} : { child }) };
}

/** A node of two agents with two completions each, with the ids 1 to 4 in the first turn and 11 to 14 in the second. */
export function node(turn: number, jointActions: readonly JointAction[], endedEarly = false): JointNode {
  const agents = {
    a: [candidate("a", 10 * turn + 1), candidate("a", 10 * turn + 2)],
    b: [candidate("b", 10 * turn + 3), candidate("b", 10 * turn + 4)],
  };
  return { turn, agents, jointActions, endedEarly };
}

/** A played group from a tree. */
export const tree = (root: JointNode): JointTree => ({
  task: { index: 0, id: "0", hash: "0" },
  seed: 0,
  root,
  episodes: [],
});
