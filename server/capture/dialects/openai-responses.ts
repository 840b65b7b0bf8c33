import type { Dialect, ModelAnswer, StreamEvent } from "./dialect.ts";
import { chatLogprobs } from "./logprobs.ts";
import { openAIError } from "./openai-error.ts";
import { type OutputItem, outputItems } from "./responses-items.ts";
import { readResponses } from "./responses-request.ts";

/** OpenAI's protocol of responses (`/v1/responses`). */
export const openAIResponses: Dialect = {
  name: "openai-responses",
  read: readResponses,
  answer: (answer) => responseOf(answer, { status: statusOf(answer), output: itemsOf(answer) }),
  events: (answer) => {
    const begun = responseOf(answer, { status: "in_progress", output: [] });
    const response = responseOf(answer, { status: statusOf(answer), output: itemsOf(answer) });
    const events: Event[] = [
      { type: "response.created", response: begun },
      { type: "response.in_progress", response: begun },
      ...itemsOf(answer).flatMap(itemEvents),
      { type: `response.${statusOf(answer)}`, response },
    ];
    return events.map((data, index) => ({ event: data.type, data: { ...data, sequence_number: index } }));
  },
  error: openAIError,
  errorEvent: ({ message, code }): StreamEvent => ({
    event: "error",
    data: { type: "error", code, message, param: null, sequence_number: 0 },
  }),
};

interface Event {
  readonly type: string;
  readonly [field: string]: unknown;
}

function statusOf({ result }: ModelAnswer): "completed" | "incomplete" {
  return result.action.finish === "length" ? "incomplete" : "completed";
}

function itemsOf(answer: ModelAnswer): readonly OutputItem[] {
  const logprobs = answer.request.logprobs ? (chatLogprobs(answer.result) ?? []) : [];
  return outputItems(answer.id, answer.result.action.message, { status: statusOf(answer), logprobs });
}

function responseOf(
  { id, model, created, request, result }: ModelAnswer,
  { status, output }: { readonly status: string; readonly output: readonly OutputItem[] },
) {
  const { promptTokens = 0, completionTokens = 0, cachedPromptTokens = 0, reasoningTokens = 0 } = result.usage ?? {};
  const { temperature = null, topP = null, maxTokens = null } = request.sampling;
  const usage = {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedPromptTokens },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + completionTokens,
  };
  return {
    id: `resp_${id}`,
    object: "response",
    created_at: created,
    status,
    error: null,
    incomplete_details: status === "incomplete" ? { reason: "max_output_tokens" } : null,
    instructions: null,
    max_output_tokens: maxTokens,
    metadata: {},
    model,
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: true,
    temperature,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: (request.tools ?? []).map((tool) => ({ type: "function", ...tool, strict: false })),
    top_p: topP,
    truncation: "disabled",
    usage: status === "in_progress" ? null : usage,
  };
}

function itemEvents(item: OutputItem, output_index: number): readonly Event[] {
  const inner = contentEvents(item).map((event) => ({ ...event, item_id: item.id, output_index }));
  return [
    { type: "response.output_item.added", output_index, item: emptied(item) },
    ...inner,
    { type: "response.output_item.done", output_index, item },
  ];
}

/** The item before its content has come. */
function emptied(item: OutputItem): object {
  if (item.type === "function_call") return { ...item, status: "in_progress", arguments: "" };
  if (item.type === "message") return { ...item, status: "in_progress", content: [] };
  return { ...item, summary: [], content: [] };
}

function contentEvents(item: OutputItem): readonly Event[] {
  if (item.type === "function_call") {
    const { arguments: text, name } = item;
    return [
      { type: "response.function_call_arguments.delta", delta: text },
      { type: "response.function_call_arguments.done", arguments: text, name },
    ];
  }
  if (item.type === "message") {
    return item.content.flatMap((part, content_index) => [
      { type: "response.content_part.added", content_index, part: { ...part, text: "", logprobs: [] } },
      { type: "response.output_text.delta", content_index, delta: part.text, logprobs: part.logprobs },
      { type: "response.output_text.done", content_index, text: part.text, logprobs: part.logprobs },
      { type: "response.content_part.done", content_index, part },
    ]);
  }
  return item.summary.flatMap((part, summary_index) => [
    { type: "response.reasoning_summary_part.added", summary_index, part: { ...part, text: "" } },
    { type: "response.reasoning_summary_text.delta", summary_index, delta: part.text },
    { type: "response.reasoning_summary_text.done", summary_index, text: part.text },
    { type: "response.reasoning_summary_part.done", summary_index, part },
  ]);
}
