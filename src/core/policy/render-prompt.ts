import { LyceumError } from "../../contract/errors/index.ts";
import type { ActRequest, ActTokens } from "../../contract/policy.ts";
import type { Renderer } from "../tokens/renderer.ts";

/** The exact prompt of a request, and its part of the action's tokens. */
export interface RenderedPrompt {
  readonly promptIds: readonly number[];
  readonly tokens: Pick<ActTokens, "extendsPrevious" | "newPromptIds" | "promptLength">;
}

/**
 * Renders the prompt of a request. Extends the earlier tokens if the template allows it, and renders the whole
 * conversation again if not.
 */
export function renderPrompt(renderer: Renderer, request: ActRequest): RenderedPrompt {
  const { messages, previous } = request;
  const tools = request.tools === undefined ? {} : { tools: request.tools };
  if (previous !== undefined) {
    const ids = previous.ids.toArray();
    const newPromptIds = renderer.extend({ ids, messages, messageCount: previous.messageCount, ...tools });
    if (newPromptIds !== "broken") {
      for (const id of newPromptIds) ids.push(id);
      return { promptIds: ids, tokens: { extendsPrevious: true, newPromptIds, promptLength: ids.length } };
    }
  }
  const promptIds = renderer.start({ messages, ...tools });
  return {
    promptIds,
    tokens: { extendsPrevious: false, newPromptIds: promptIds, promptLength: promptIds.length },
  };
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
