import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AgentStep } from "../../../src/contract/environment.ts";
import type { Reward } from "../../../src/contract/reward.ts";
import type * as wire from "../generated/lyceum/v1/messages_pb.ts";
import type { AgentStepSchema, RewardSchema } from "../generated/lyceum/v1/messages_pb.ts";
import { fromWireError, toWireError } from "./errors.ts";
import { invalidRequest } from "./invalid-request.ts";

/** Returns the result of an agent's step in its wire form. */
export function toWireAgentStep({
  reward,
  terminated,
  truncated,
}: AgentStep): MessageInitShape<typeof AgentStepSchema> {
  return { reward: reward === undefined ? undefined : toWireReward(reward), terminated, truncated };
}

/** Returns the result of an agent's step. Throws `server.invalid-request` for a reward without a status. */
export function fromWireAgentStep({ reward, terminated, truncated }: wire.AgentStep): AgentStep {
  return { ...(reward === undefined ? {} : { reward: fromWireReward(reward) }), terminated, truncated };
}

function toWireReward(reward: Reward): MessageInitShape<typeof RewardSchema> {
  if (reward.status === "unscored") {
    const { reason, error } = reward;
    return { status: { case: "unscored", value: { reason, error: error && toWireError(error) } } };
  }
  const { value, components, failure } = reward;
  return {
    status: {
      case: "scored",
      value: { value, components: { ...components }, failure: failure && toWireError(failure) },
    },
  };
}

function fromWireReward({ status }: wire.Reward): Reward {
  if (status.case === "scored") {
    const { value, components, failure } = status.value;
    return {
      status: "scored",
      value,
      components: { ...components },
      ...(failure === undefined ? {} : { failure: fromWireError(failure) }),
    };
  }
  if (status.case === undefined) throw invalidRequest("A reward has no status.", "Set scored or unscored.");
  const { reason, error } = status.value;
  return { status: "unscored", reason, ...(error === undefined ? {} : { error: fromWireError(error) }) };
}
