import { isDeepStrictEqual } from "node:util";
import { LyceumError } from "../../contract/errors/lyceum-error.ts";
import type { Message, ToolSpec } from "../../contract/message.ts";
import { readExactJson } from "../text/exact-json.ts";
import { inlineText, parseAssistantText, reasoningOf, type ToolCallFormat } from "./assistant-text.ts";
import { markMessage, markTool, markVariables } from "./mark-message.ts";
import type { Mark } from "./protected-rendering.ts";
import { renderTemplate } from "./render-template.ts";
import { parseTemplate } from "./template-corrections.ts";

/** A compiled Jinja chat template with its properties, which are found by rendering probes. */
export interface ChatTemplate {
  /**
   * Renders a conversation as text. With `generationPrompt`, the text ends where the assistant begins to write. All
   * text that the template does not write itself passes through `mark`.
   */
  render(options: {
    readonly messages: readonly Message[];
    readonly tools: readonly ToolSpec[];
    readonly generationPrompt: boolean;
    readonly mark?: Mark;
  }): string;
  /** What the template writes after an assistant's text, such as `<|im_end|>` and a newline. */
  readonly closing: string;
  /** True if the template lists tools in the prompt. */
  readonly listsTools: boolean;
  readonly toolCallFormat: ToolCallFormat;
  /** True if the generation prompt ends with an opening `<think>`. */
  readonly opensReasoning: boolean;
}

type Render = (
  messages: readonly unknown[],
  tools: readonly ToolSpec[],
  generationPrompt: boolean,
  mark?: Mark,
) => string;

const user = { role: "user", content: "probe-question" };
const answer = "probe-answer";
const callArguments = { key: "a value", count: 3, flag: true, list: ["x", 1], part: { inner: null } };
const call = { type: "function", id: "call00000", function: { name: "probe_call", arguments: callArguments } };
const calledTool: ToolSpec = {
  name: call.function.name,
  description: "d",
  parameters: {
    type: "object",
    properties: {
      key: { type: "string" },
      count: { type: "integer" },
      flag: { type: "boolean" },
      list: { type: "array" },
      part: { type: "object" },
    },
  },
};
const tool: ToolSpec = { name: "probe_tool", description: "d", parameters: { type: "object", properties: {} } };

/**
 * Compiles a Jinja chat template. `specialTokens` (`bos_token` and so on) and `variables` are available to the template
 * in addition to `messages`, `tools` and `add_generation_prompt`. Throws `model.template` if the source does not parse
 * or cannot render a question and an answer.
 */
export function compileChatTemplate(
  source: string,
  options: {
    readonly specialTokens?: Readonly<Record<string, unknown>>;
    readonly variables?: Readonly<Record<string, unknown>>;
    /** True if the template only renders conversations with tools. */
    readonly isForTools?: boolean;
  } = {},
): ChatTemplate {
  const always = options.isForTools === true ? [tool] : [];
  const render = compile(source, options);
  const whole = render([user, { role: "assistant", content: answer }], always, false);
  const at = whole.lastIndexOf(answer);
  const closing = at < 0 ? "" : whole.slice(at + answer.length);
  const prompt = render([user], always, true);
  const callText = attempt(() => render([user, { role: "assistant", content: "", tool_calls: [call] }], always, false));
  const inline = {
    reasoning: !source.includes("reasoning_content"),
    toolCalls: !callText.includes(call.function.name),
  };
  return {
    render: ({ messages, tools, generationPrompt, mark = (text) => text }) =>
      render(
        messages.map((message) => templateMessage(markMessage(message, mark), inline)),
        tools.map((spec) => markTool(spec, mark)),
        generationPrompt,
        mark,
      ),
    closing,
    listsTools: attempt(() => render([user], [tool], true)).includes(tool.name),
    toolCallFormat: inline.toolCalls ? "hermes" : formatOf({ callText, prompt, closing }),
    opensReasoning: opensReasoning(prompt),
  };
}

function compile(source: string, options: Parameters<typeof compileChatTemplate>[1] & object): Render {
  const { specialTokens = {}, variables = {} } = options;
  const parsed = failing("does not parse", () => parseTemplate(source));
  return (messages, tools, generationPrompt, mark) =>
    failing("fails", () =>
      renderTemplate(parsed, {
        // Like transformers, defines these for every template.
        documents: null,
        ...specialTokens,
        ...(mark === undefined ? variables : markVariables(variables, mark)),
        messages,
        tools: tools.length === 0 ? null : tools.map((spec) => ({ type: "function", function: templateTool(spec) })),
        add_generation_prompt: generationPrompt,
      }),
    );
}

function failing<T>(how: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw new LyceumError({
      code: "model.template",
      message: `The chat template ${how}: ${error instanceof Error ? error.message : String(error)}`,
      hint: "Some templates reject a role or an order of roles: change the messages, or use another template.",
      cause: error,
    });
  }
}

/** Returns the text, or an empty text if the template fails. For probes of features that a template may lack. */
function attempt(action: () => string): string {
  try {
    return action();
  } catch {
    return "";
  }
}

function opensReasoning(prompt: string): boolean {
  return /<think>\s*$/.test(prompt);
}

/** Returns the form in which the call of a rendered conversation is read back as it was, or `none`. */
function formatOf(options: {
  readonly callText: string;
  readonly prompt: string;
  readonly closing: string;
}): ToolCallFormat {
  const { callText, prompt, closing } = options;
  const start = commonLength(callText, prompt);
  const turn = callText.slice(start);
  const body = turn.endsWith(closing) ? turn.slice(0, turn.length - closing.length) : turn;
  const startsInReasoning = start === prompt.length && opensReasoning(prompt);
  const formats = ["hermes", "xml", "bytes", "llama"] as const;
  const reads = (toolCallFormat: ToolCallFormat): boolean => {
    const { toolCalls } = parseAssistantText(body, { toolCallFormat, startsInReasoning, tools: [calledTool] });
    const read = toolCalls.map(({ name, arguments: values }) => ({ name, arguments: values }));
    return isDeepStrictEqual(read, [call.function]);
  };
  return formats.find(reads) ?? "none";
}

function commonLength(first: string, second: string): number {
  let length = 0;
  while (length < second.length && first[length] === second[length]) length += 1;
  return length;
}

function templateTool({ parametersJson, ...spec }: ToolSpec): object {
  return parametersJson === undefined ? spec : { ...spec, parameters: readExactJson(parametersJson) };
}

/** Converts a message to the form that chat templates expect. */
function templateMessage(
  message: Message,
  inline: { readonly reasoning: boolean; readonly toolCalls: boolean },
): object {
  const reasoning = reasoningOf(message);
  const calls = message.toolCalls ?? [];
  return {
    role: message.role,
    content: inlineText(message, inline),
    ...(reasoning === "" || inline.reasoning ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 || inline.toolCalls
      ? {}
      : {
          tool_calls: calls.map(({ id, name, arguments: values, argumentsJson }) => ({
            type: "function",
            id,
            function: { name, arguments: argumentsJson === undefined ? values : readExactJson(argumentsJson) },
          })),
        }),
    ...(message.toolCallId === undefined ? {} : { tool_call_id: message.toolCallId }),
    ...(message.name === undefined ? {} : { name: message.name }),
  };
}
