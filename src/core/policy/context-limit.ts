import { LyceumError } from "../../contract/errors/index.ts";
import type { ActRequest } from "../../contract/policy.ts";

/**
 * Returns the sampling settings of a request, with the completion limited to the length that `maxLength` leaves. Throws
 * `policy.prompt-too-long`.
 */
export function fitCompletion(options: {
  readonly request: ActRequest;
  readonly promptLength: number;
  readonly maxLength: number;
}): ActRequest["sampling"] {
  const { request, promptLength, maxLength } = options;
  const room = maxLength - promptLength;
  if (room >= request.sampling.maxTokens) return request.sampling;
  if (room > 0) return { ...request.sampling, maxTokens: room };
  throw new LyceumError({
    code: "policy.prompt-too-long",
    message: `The prompt of agent "${request.agent}" has ${promptLength} tokens, but the model accepts ${maxLength} including the answer.`,
    hint: "Raise the model's maximum length, or remove tasks that do not fit.",
    data: { agent: request.agent, promptLength, maxLength },
  });
}
