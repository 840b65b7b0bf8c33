import { LyceumError } from "../../../contract/errors/index.ts";
import { textOf } from "../../../contract/message.ts";
import type { ActRequest } from "../../../contract/policy.ts";
import { type BodyOptions, type RequestBody, samplingFields } from "./request-body.ts";

/**
 * A request at the completions endpoint: the texts of the messages one after another, which the model goes on with, as
 * `createTextRenderer` puts them. Throws `policy.unsupported-input` for tools and images, which have no place there.
 */
export function completionBody(request: ActRequest, options: BodyOptions): RequestBody {
  const { messages, tools = [] } = request;
  if (tools.length > 0) throw unsupported("tools");
  if (messages.some(({ content }) => content.some(({ type }) => type === "image"))) throw unsupported("images");
  return {
    model: options.model,
    prompt: messages.map(textOf).join(""),
    ...samplingFields(request),
    // The number of likeliest tokens that are told beside the sampled one; some servers take 0 for none at all.
    ...(options.logprobs ? { logprobs: 1 } : {}),
    ...(options.tokenIds ? { return_token_ids: true } : {}),
    ...options.extraBody,
  };
}

function unsupported(what: string): LyceumError {
  return new LyceumError({
    code: "policy.unsupported-input",
    message: `The completions endpoint has no place for ${what}.`,
    hint: 'Ask by the chat protocol: endpoint: "chat", or --format chat.',
    data: { what },
  });
}
