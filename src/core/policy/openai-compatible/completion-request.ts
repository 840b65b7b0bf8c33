import { LyceumError } from "../../../contract/errors/index.ts";
import { textOf } from "../../../contract/message.ts";
import type { ActRequest } from "../../../contract/policy.ts";
import { type BodyOptions, type RequestBody, requestBody } from "./request-body.ts";

/**
 * Returns the body of a request to the completions endpoint. The prompt is the joined texts of the messages, as by
 * `createTextRenderer`. Throws `policy.unsupported-input` for tools and images.
 */
export function completionBody(request: ActRequest, options: BodyOptions): RequestBody {
  const { messages, tools = [] } = request;
  if (tools.length > 0) throw unsupported("tools");
  if (messages.some(({ content }) => content.some(({ type }) => type === "image"))) throw unsupported("images");
  const fields = {
    prompt: messages.map(textOf).join(""),
    // The number of most likely tokens to return besides the sampled one. Some servers return no logprobs at all for 0.
    ...(options.logprobs ? { logprobs: 1 } : {}),
  };
  return requestBody(fields, request, options);
}

function unsupported(what: string): LyceumError {
  return new LyceumError({
    code: "policy.unsupported-input",
    message: `The completions endpoint does not support ${what}.`,
    hint: 'Use the chat protocol: endpoint: "chat", or --format chat.',
    data: { what },
  });
}
