import type { MessageInitShape } from "@bufbuild/protobuf";
import { withoutUndefined } from "../../../src/core/without-undefined.ts";
import type { SessionEpisode, SessionStepResult } from "../../session/session.ts";
import type {
  ResetResponse,
  ResetResponseSchema,
  StepResponse,
  StepResponseSchema,
} from "../generated/lyceum/v1/environment_pb.ts";
import { jsonField, valueField } from "./json-value.ts";
import { fromWireObservations, toWireObservations } from "./observations.ts";
import { fromWireAgentStep, toWireAgentStep } from "./rewards.ts";

/** Returns the start of an episode in its wire form. */
export function toWireEpisode(
  session: string,
  { episodeId, seed, split, index, taskId, observations }: SessionEpisode,
): MessageInitShape<typeof ResetResponseSchema> {
  return {
    sessionId: session,
    episodeId,
    split,
    taskId,
    seed: BigInt(seed),
    index: BigInt(index),
    observations: toWireObservations(observations),
  };
}

/** Returns the start of an episode. */
export function fromWireEpisode(response: ResetResponse): SessionEpisode {
  const { episodeId, seed, split, index, taskId, observations } = response;
  return {
    episodeId,
    split,
    taskId,
    seed: Number(seed),
    index: Number(index),
    observations: fromWireObservations(observations),
  };
}

/** Returns the result of a step in its wire form. */
export function toWireResult(result: SessionStepResult): MessageInitShape<typeof StepResponseSchema> {
  const { observations, agents, correct, info, done } = result;
  return {
    observations: toWireObservations(observations),
    agents: Object.fromEntries(Object.entries(agents).map(([agent, step]) => [agent, toWireAgentStep(step)])),
    correct,
    done,
    ...valueField("info", info),
  };
}

/** Returns the result of a step. */
export function fromWireResult({ observations, agents, correct, info, done }: StepResponse): SessionStepResult {
  return {
    observations: fromWireObservations(observations),
    agents: Object.fromEntries(Object.entries(agents).map(([agent, step]) => [agent, fromWireAgentStep(step)])),
    ...withoutUndefined({ correct }),
    ...jsonField("info", info),
    done,
  };
}
