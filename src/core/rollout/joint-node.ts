import type { Action, AgentId } from "../../contract/action.ts";
import { type ErrorData, toErrorData } from "../../contract/errors/index.ts";
import { type Reward, scored } from "../../contract/reward.ts";
import type { SamplingSettings } from "../../contract/sampler.ts";
import { type AgentRecorder, actionError } from "./agent-recorder.ts";
import type { Ask } from "./ask-all.ts";
import type { JointAction } from "./joint-action.ts";
import type { Candidate, GrowingJointAction, GrowingNode, JointPath } from "./joint-path.ts";
import type { JointShape } from "./joint-shape.ts";
import { jointActionsPerNode, jointChoices } from "./joint-shape.ts";
import { type FailedOutcome, failed } from "./outcome.ts";
import { lastTurnSequences } from "./token-sequences.ts";

/** Creates a node from the answers of its acting agents. Its joint actions are not yet played. */
export function newNode<Task>(options: {
  readonly path: JointPath<Task>;
  readonly asks: readonly Ask<Task>[];
  readonly shape: JointShape;
  readonly sampling: SamplingSettings;
}): GrowingNode<Task> {
  const { path, asks, shape, sampling } = options;
  const agents = new Map(
    path.acting.map((recorder) => [
      recorder.agent,
      asks.filter((ask) => ask.recorder === recorder).map((ask) => candidate(ask, sampling)),
    ]),
  );
  const jointActions = jointChoices(shape, [...agents.keys()]).map((choice, index) => {
    const place = shape.turns === "handoff" ? 0 : path.place * branchesOf(path, shape) + index;
    return newJointAction({ path, agents, choice, place });
  });
  return { path, agents, jointActions, endedEarly: false };
}

/** Creates a joint action of a node that is not yet played. */
export function newJointAction<Task>(options: {
  readonly path: JointPath<Task>;
  readonly agents: GrowingNode<Task>["agents"];
  readonly choice: JointAction["choice"];
  readonly place: number;
}): GrowingJointAction<Task> {
  const { path, agents, choice, place } = options;
  const recorders = new Map<AgentId, AgentRecorder>();
  const actions: Record<AgentId, Action> = {};
  for (const [agent, candidates] of agents) {
    const { recorder, shown } = candidates[choice[agent]!]!;
    recorders.set(agent, recorder);
    if (shown.action !== undefined) actions[agent] = shown.action;
  }
  const next: JointPath<Task> = {
    trajectory: path.trajectory.branch(recorders),
    history: [...path.history, actions],
    place,
    observations: {},
    acting: [],
  };
  const nothing = path.trajectory.recorders.map(({ agent }): [AgentId, Reward] => [agent, scored(0, {})]);
  return { choice, path: next, rewards: Object.fromEntries(nothing) };
}

/** The failure of a joint action that cannot be played. */
interface CandidateFailure {
  readonly outcome: FailedOutcome;
  /** The failures that the agents' own answers caused. Empty if one of the failures has another cause. */
  readonly caused: ReadonlyMap<AgentId, ErrorData>;
}

/** Returns the failure of a policy in one of the completions of a joint action, if there is one. */
export function candidateFailure<Task>(
  agents: GrowingNode<Task>["agents"],
  choice: JointAction["choice"],
): CandidateFailure | undefined {
  const caused = new Map<AgentId, ErrorData>();
  for (const [agent, candidates] of agents) {
    const { failure, shown } = candidates[choice[agent]!]!;
    if (failure !== undefined) caused.set(agent, failure);
    else if (shown.error !== undefined) return { outcome: { status: "failed", error: shown.error }, caused: new Map() };
  }
  const [first] = caused.values();
  return first === undefined ? undefined : { outcome: { status: "failed", error: first }, caused };
}

function branchesOf<Task>(path: JointPath<Task>, shape: JointShape): number {
  return jointActionsPerNode(shape, path.trajectory.recorders.length);
}

function candidate<Task>({ recorder: before, turn, answer }: Ask<Task>, sampling: SamplingSettings): Candidate {
  const recorder = before.copy();
  if (answer === undefined || "error" in answer) {
    return { recorder, shown: { sequences: [], error: failed(answer?.error).error } };
  }
  try {
    recorder.act(answer.result, { turn, sampling });
  } catch (error) {
    return { recorder, shown: { sequences: [], error: toErrorData(error) } };
  }
  const { action, failure } = answer.result;
  const error = failure ?? actionError(answer.result, recorder)?.toData();
  return {
    recorder,
    ...(failure === undefined ? {} : { failure }),
    shown: {
      action,
      sequences: lastTurnSequences(recorder.agent, recorder),
      ...(error === undefined ? {} : { error }),
    },
  };
}
