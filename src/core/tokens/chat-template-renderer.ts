import { LyceumError } from "../../contract/errors/lyceum-error.ts";
import { type Message, type ToolSpec, textMessage } from "../../contract/message.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { parseAssistantText } from "./assistant-text.ts";
import { type ChatTemplate, compileChatTemplate } from "./chat-template.ts";
import { ControlTokens } from "./control-tokens.ts";
import { type Mark, type ProtectedRendering, renderProtected } from "./protected-rendering.ts";
import type { Renderer } from "./renderer.ts";
import { settledParts } from "./settled-parts.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { assertExpressible } from "./unsupported-input.ts";

/** The options of {@link createChatTemplateRenderer}. */
export interface ChatTemplateRendererOptions {
  readonly tokenizer: Tokenizer;
  /** One Jinja template, or two: `toolUse` renders conversations with tools. */
  readonly template: string | { readonly default: string; readonly toolUse?: string };
  /**
   * Further ids that end a turn, in addition to the tokenizer's eos and the token that the template writes after an
   * assistant's text.
   */
  readonly stopTokenIds?: readonly number[];
  /**
   * Further variables of the template, such as `enable_thinking` or `date_string`, in addition to messages and special
   * tokens.
   */
  readonly variables?: Readonly<Record<string, unknown>>;
  /** Default: `"chat-template"`. */
  readonly name?: string;
}

const accepts = ["text", "reasoning"] as const;

/** The number of renderers with variables of their own that are kept. Few data sets have more values. */
const mostVariants = 32;

/**
 * Creates a renderer from a Hugging Face chat template. If the template has no field for reasoning or tool calls, they
 * are written into the text (`<think>`, `<tool_call>`). Only the template can write control tokens: in messages, tools
 * and variables they are encoded as ordinary text. The methods throw `model.template` if the template fails, and
 * `policy.unsupported-input` for images, and for tools if the template does not list tools.
 */
export function createChatTemplateRenderer(options: ChatTemplateRendererOptions): Renderer {
  const { tokenizer, name = "chat-template" } = options;
  const sources = typeof options.template === "string" ? { default: options.template } : options.template;
  const { toolUse } = sources;
  const given = { specialTokens: specialTokenVariables(tokenizer), variables: options.variables ?? {} };
  const plain = compileChatTemplate(sources.default, given);
  const withTools = toolUse === undefined ? plain : compileChatTemplate(toolUse, { ...given, isForTools: true });
  const controlTokens = new ControlTokens(tokenizer, [sources.default, toolUse ?? ""]);
  const stopTokenIds = findStopTokenIds(options, [plain, withTools]);
  const isStop = (id: number | undefined): boolean => id !== undefined && stopTokenIds.includes(id);
  const stopTexts = stopTokenIds.map((id) => tokenizer.decode([id])).filter((text) => text !== "");

  const variants = new Map<string, Renderer>();

  const formOf = ({ opensReasoning }: ChatTemplate) => ({
    toolCallFormat: withTools.toolCallFormat,
    startsInReasoning: opensReasoning,
  });

  const templateFor = (messages: readonly Message[], tools: readonly ToolSpec[]): ChatTemplate => {
    assertExpressible({ renderer: name, accepts, messages });
    if (tools.length > 0) assertTools(name, withTools);
    return tools.length > 0 ? withTools : plain;
  };

  const render = (template: ChatTemplate, options: Parameters<ChatTemplate["render"]>[0]): ProtectedRendering =>
    renderProtected({ controlTokens, tokenizer, render: (mark) => template.render({ ...options, mark }) });

  return {
    specificationVersion: "v1",
    name,
    accepts,
    stopTokenIds,
    start: ({ messages, tools = [] }) => {
      const { text, encode } = render(templateFor(messages, tools), { messages, tools, generationPrompt: true });
      return encode(text);
    },

    extend: ({ ids, messages, messageCount, tools = [] }) => {
      const template = templateFor(messages, tools);
      const { text: after, mark, unmark, encode } = render(template, { messages, tools, generationPrompt: true });
      const earlier = messages.slice(0, messageCount);
      const prompt = template.render({ messages: earlier.slice(0, -1), tools, generationPrompt: true, mark });
      const before = template.render({ messages: earlier, tools, generationPrompt: false, mark });
      if (!before.startsWith(prompt) || !after.startsWith(before)) return "broken";
      const turn = splitTurn(before.slice(prompt.length), { stopTexts, closing: template.closing });
      if (turn === undefined || !expresses(unmark(turn.body), earlier.at(-1)!)) return "broken";
      if (!startsWithIds(ids.first, openingIds({ template, messages: earlier, tools, tokenizer, mark, encode })))
        return "broken";
      const added = encodeAfter(encode, turn.stopText, turn.rest + after.slice(before.length));
      return isStop(ids.lastId) || turn.stopText === "" ? added : [tokenizer.tokenId(turn.stopText)!, ...added];
    },

    complete: (message) => {
      const question = textMessage("user", "?");
      const tools = toolUse === undefined ? [] : (message.toolCalls ?? []).map(({ name }) => toolNamed(name));
      const template = templateFor([message], tools);
      const conversation = { messages: [question, message], tools, generationPrompt: false };
      const { text: whole, mark, encode } = render(template, conversation);
      const prompt = template.render({ messages: [question], tools, generationPrompt: true, mark });
      const turn = whole.startsWith(prompt)
        ? splitTurn(whole.slice(prompt.length), { stopTexts, closing: template.closing })
        : undefined;
      if (turn === undefined) {
        throw new LyceumError({
          code: "model.template",
          message: `The chat template "${name}" renders this assistant message differently from its generation prompt, so it cannot be used as a demonstration.`,
          hint: "Add the reasoning that the generation prompt opens, or use another template.",
        });
      }
      return encodeAfter(encode, prompt, turn.body + turn.stopText);
    },

    parse: ({ ids, finish, stopString, tools = [] }) => {
      const text = tokenizer.decode(isStop(ids.at(-1)) ? ids.slice(0, -1) : ids);
      const cut = stopString === undefined ? -1 : text.indexOf(stopString);
      const written = cut < 0 ? text : text.slice(0, cut);
      const { content, toolCalls, parseErrors } = parseAssistantText(written, {
        ...formOf(tools.length > 0 ? withTools : plain),
        tools,
      });
      return {
        message: { role: "assistant", content, ...(toolCalls.length === 0 ? {} : { toolCalls }) },
        finish: finish === "stop" && toolCalls.length > 0 ? "tool-calls" : finish,
        ...(parseErrors.length === 0 ? {} : { parseErrors }),
      };
    },

    withVariables: (own) => {
      const key = JSON.stringify(own);
      const known = variants.get(key);
      if (known !== undefined) return known;
      if (variants.size >= mostVariants) variants.clear();
      const variant = createChatTemplateRenderer({ ...options, variables: { ...options.variables, ...own } });
      variants.set(key, variant);
      return variant;
    },

    // Without the tools, the beginning of an answer is not known if the templates differ in it.
    ...(plain.opensReasoning === withTools.opensReasoning
      ? { settledParts: (text: string) => settledParts(text, formOf(plain)) }
      : {}),
  };
}

/** As in `transformers`, a token that is not set is undefined. */
function specialTokenVariables({ bosToken, eosToken, padToken }: Tokenizer): Readonly<Record<string, unknown>> {
  return withoutUndefined({ bos_token: bosToken, eos_token: eosToken, pad_token: padToken });
}

/** Returns a tool for the template that renders a call of it. */
function toolNamed(name: string): ToolSpec {
  return { name, description: "", parameters: { type: "object", properties: {} } };
}

function assertTools(name: string, template: ChatTemplate): void {
  if (template.listsTools && template.toolCallFormat !== "none") return;
  throw new LyceumError({
    code: "policy.unsupported-input",
    message: template.listsTools
      ? `The chat template "${name}" writes tool calls in a form that cannot be read back.`
      : `The chat template "${name}" does not list tools in the prompt.`,
    hint: "Use a model whose template lists tools and writes calls as JSON or XML, or set environment.protocol to tagged.",
  });
}

/** Returns eos, the caller's ids, and the special token that each template writes first after an assistant's text. */
function findStopTokenIds(options: ChatTemplateRendererOptions, templates: readonly ChatTemplate[]): readonly number[] {
  const { tokenizer } = options;
  const special = new Set(tokenizer.specialTokens ?? []);
  const ids = new Set(options.stopTokenIds);
  const eos = tokenizer.eosToken === undefined ? undefined : tokenizer.tokenId(tokenizer.eosToken);
  if (eos !== undefined) ids.add(eos);
  for (const { closing } of templates) {
    const first = tokenizer.encode(closing.trimStart())[0];
    if (first !== undefined && special.has(tokenizer.decode([first]))) ids.add(first);
  }
  return [...ids];
}

interface Turn {
  /** The assistant's text. */
  readonly body: string;
  /** The stop token after the text. Empty if the template writes none. */
  readonly stopText: string;
  /** What the template writes after the stop token. */
  readonly rest: string;
}

/** Splits an assistant's rendered turn at its last stop token. */
function splitTurn(
  turn: string,
  options: { readonly stopTexts: readonly string[]; readonly closing: string },
): Turn | undefined {
  const ends = options.stopTexts.map((stopText) => ({ stopText, at: turn.lastIndexOf(stopText) }));
  const last = ends.reduce((best, end) => (end.at > best.at ? end : best), { stopText: "", at: -1 });
  if (last.at >= 0) {
    const { stopText, at } = last;
    return { body: turn.slice(0, at), stopText, rest: turn.slice(at + stopText.length) };
  }
  if (!turn.endsWith(options.closing)) return undefined;
  return { body: turn.slice(0, turn.length - options.closing.length), stopText: "", rest: options.closing };
}

/** True if the text contains everything of the message. Templates may drop reasoning, or text next to tool calls. */
function expresses(body: string, message: Message): boolean {
  const contains = (text: string): boolean => body.includes(text.trim());
  return (
    message.content.every((part) => part.type === "image" || contains(part.text)) &&
    (message.toolCalls ?? []).every((call) => contains(call.name))
  );
}

/**
 * Returns the ids of the conversation before the first assistant turn, up to the last special token. Ids before a
 * special token do not depend on what follows it. The ids differ if the tools have changed.
 */
function openingIds(options: {
  readonly template: ChatTemplate;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  readonly tokenizer: Tokenizer;
  readonly mark: Mark;
  readonly encode: (text: string) => number[];
}): readonly number[] {
  const { template, messages, tools, tokenizer, mark, encode } = options;
  const opening = messages.slice(
    0,
    messages.findIndex((message) => message.role === "assistant"),
  );
  if (opening.length === 0) return [];
  const ids = encode(template.render({ messages: opening, tools, generationPrompt: false, mark }));
  const special = new Set((tokenizer.specialTokens ?? []).map((token) => tokenizer.tokenId(token)));
  return ids.slice(0, ids.findLastIndex((id) => special.has(id)) + 1);
}

function startsWithIds(ids: readonly number[], prefix: readonly number[]): boolean {
  return prefix.length <= ids.length && prefix.every((id, i) => id === ids[i]);
}

/** Returns the ids of `text` after `context`. If tokens would merge at the border, returns the ids of `text` alone. */
function encodeAfter(encode: (text: string) => number[], context: string, text: string): number[] {
  const contextIds = encode(context);
  const ids = encode(context + text);
  return startsWithIds(ids, contextIds) ? ids.slice(contextIds.length) : encode(text);
}
