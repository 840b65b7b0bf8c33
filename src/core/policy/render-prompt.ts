import { LyceumError } from "../../contract/errors/index.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Message } from "../../contract/message.ts";
import type { ActRequest, ActTokens } from "../../contract/policy.ts";
import { TokenPrefix } from "../../contract/token-prefix.ts";
import type { Renderer } from "../tokens/renderer.ts";

/** The exact prompt of a request, and its part of the action's tokens. */
export interface RenderedPrompt {
  readonly prompt: TokenPrefix;
  readonly tokens: Pick<ActTokens, "extendsPrevious" | "newPromptIds" | "promptLength">;
}

/**
 * Renders the prompt of a request. Extends the earlier tokens if the template allows it, and renders the whole
 * conversation again if not.
 */
export function renderPrompt(base: Renderer, request: ActRequest): RenderedPrompt {
  const { previous } = request;
  const renderer = requestRenderer(base, request);
  const messages = renderer.accepts.includes("reasoning") ? request.messages : request.messages.map(withoutReasoning);
  const tools = request.tools === undefined ? {} : { tools: request.tools };
  if (previous !== undefined) {
    const added = renderer.extend({ ...previous, messages, ...tools });
    if (added !== "broken") return rendered(previous.ids, added);
  }
  return rendered(TokenPrefix.empty, renderer.start({ messages, ...tools }));
}

/**
 * Returns the renderer of a request or an episode, with its variables of the template. Throws
 * `policy.unsupported-input` if there is no template that could read them.
 */
export function requestRenderer(
  renderer: Renderer,
  { templateVariables }: { readonly templateVariables?: JsonObject | undefined },
): Renderer {
  if (templateVariables === undefined) return renderer;
  if (renderer.withVariables !== undefined) return renderer.withVariables(templateVariables);
  throw new LyceumError({
    code: "policy.unsupported-input",
    message: `The conversation sets variables of the chat template (${Object.keys(templateVariables).join(", ")}), but the renderer "${renderer.name}" has no template.`,
    hint: "Use a model with a chat template, or remove chat_template_kwargs from the rows.",
  });
}

/** Earlier reasoning of the assistant is not sent back to a model whose prompt has no place for it. */
function withoutReasoning(message: Message): Message {
  if (message.role !== "assistant") return message;
  return { ...message, content: message.content.filter(({ type }) => type !== "reasoning") };
}

function rendered(previous: TokenPrefix, newPromptIds: readonly number[]): RenderedPrompt {
  const prompt = previous.append(newPromptIds);
  const extendsPrevious = previous !== TokenPrefix.empty;
  return { prompt, tokens: { extendsPrevious, newPromptIds, promptLength: prompt.length } };
}
