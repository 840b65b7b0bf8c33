import { LyceumError } from "../../contract/errors/index.ts";
import type { ActRequest } from "../../contract/policy.ts";
import type { Renderer } from "../tokens/renderer.ts";

/** The exact prompt of a request. `extendsPrevious` is true if it continues the tokens of the agent's earlier turns. */
export interface RenderedPrompt {
  readonly promptIds: readonly number[];
  readonly extendsPrevious: boolean;
}

/**
 * Renders the prompt of a request. Extends the earlier tokens if the template allows it, and renders the whole
 * conversation again if not.
 */
export function renderPrompt(renderer: Renderer, request: ActRequest): RenderedPrompt {
  const { messages, previous } = request;
  const tools = request.tools === undefined ? {} : { tools: request.tools };
  const extension =
    previous === undefined
      ? "broken"
      : renderer.extend({ ids: previous.ids, messages, messageCount: previous.messageCount, ...tools });
  if (previous === undefined || extension === "broken") {
    return { promptIds: renderer.start({ messages, ...tools }), extendsPrevious: false };
  }
  return { promptIds: previous.ids.concat(extension), extendsPrevious: true };
}

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
