import { LyceumError } from "../../contract/errors/index.ts";
import type { ActRequest } from "../../contract/policy.ts";
import type { Renderer } from "../tokens/renderer.ts";

/** The exact prompt of a request, and whether it goes on from the tokens of the agent's earlier turns. */
export interface RenderedPrompt {
  readonly promptIds: readonly number[];
  readonly extendsPrevious: boolean;
}

/** The prompt of a request: the earlier tokens extended where the template allows it, else the conversation anew. */
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

/** The settings of a request with the completion cut to what `maxLength` leaves. Throws `policy.prompt-too-long`. */
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
    message: `The prompt of agent "${request.agent}" has ${promptLength} tokens, and the model takes ${maxLength} with the answer.`,
    hint: "Raise the model's maximum length, or leave out tasks that do not fit.",
    data: { agent: request.agent, promptLength, maxLength },
  });
}
