import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ActRequest, ActResult, ActTokens } from "../../../src/contract/policy.ts";
import { defaultSampling, type SamplingSettings } from "../../../src/contract/sampler.ts";
import { TokenPrefix } from "../../../src/contract/token-prefix.ts";
import { withoutUndefined } from "../../../src/core/without-undefined.ts";
import type {
  GenerateRequest,
  GenerateResponseSchema,
  SamplingSettings as WireSampling,
} from "../generated/lyceum/v1/model_pb.ts";
import { toWireAction } from "./actions.ts";
import { invalidRequest } from "./invalid-request.ts";
import { fromWireMessage, fromWireTool } from "./messages.ts";

/** Returns the request of a wire form. Throws `server.invalid-request` for a conversation without messages. */
export function fromWireGenerate(request: GenerateRequest): Omit<ActRequest, "signal"> {
  const { agent, messages, tools, sampling, seed, previous } = request;
  if (messages.length === 0) throw invalidRequest("The conversation has no messages.", "Send at least one message.");
  return {
    agent: agent === "" ? "agent" : agent,
    messages: messages.map(fromWireMessage),
    ...(tools.length === 0 ? {} : { tools: tools.map(fromWireTool) }),
    sampling: fromWireSampling(sampling),
    seed: Number(seed),
    ...(previous === undefined
      ? {}
      : { previous: { ids: TokenPrefix.empty.append(previous.ids), messageCount: previous.messageCount } }),
  };
}

/** Returns an answer in its wire form. */
export function toWireGenerated(result: ActResult): MessageInitShape<typeof GenerateResponseSchema> {
  const { action, tokens, logprobs = [], usage, latencyMs, retries } = result;
  return {
    action: toWireAction(action),
    tokens: tokens && toWireTokens(tokens),
    logprobs: logprobs.map(({ text, logprob, id }) => ({ text, logprob, id })),
    usage,
    latencyMs,
    retries,
  };
}

function toWireTokens(tokens: ActTokens): MessageInitShape<typeof GenerateResponseSchema>["tokens"] {
  const { extendsPrevious, newPromptIds, promptLength, completionIds, logprobs, values = [], weightsVersion } = tokens;
  return {
    extendsPrevious,
    promptLength,
    weightsVersion,
    newPromptIds: [...newPromptIds],
    completionIds: [...completionIds],
    logprobs: [...logprobs],
    values: [...values],
  };
}

function fromWireSampling(sampling: WireSampling | undefined): SamplingSettings {
  if (sampling === undefined) return defaultSampling;
  const { temperature, maxTokens, topK, topP, minP, stop } = sampling;
  return {
    ...defaultSampling,
    ...(withoutUndefined({ temperature, maxTokens, topK, topP, minP }) as Partial<SamplingSettings>),
    ...(stop.length === 0 ? {} : { stop }),
  };
}
