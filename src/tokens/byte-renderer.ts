import { LyceumError } from "../errors/lyceum-error.ts";
import { type Message, textMessage, textOf } from "../message/message.ts";
import { createByteTokenizer } from "./byte-tokenizer.ts";
import type { Renderer } from "./renderer.ts";
import { assertExpressible } from "./unsupported-input.ts";

const accepts = ["text"] as const;

/**
 * The renderer of the byte tokenizer, made for short prompts. A message is its role's marker and the bytes of its
 * text; an assistant's ends with `<|eot|>`. Two things keep it short: the marker of a first user message is left
 * out unless its text is empty, and no other message is closed. So the user message `12+34=` is six bytes and
 * `<|assistant|>`. Different conversations have different ids: special tokens written in a text stay bytes.
 */
export function createByteRenderer(): Renderer {
  const tokenizer = createByteTokenizer();
  const idOf = (token: string): number => tokenizer.tokenId(token)!;
  const endOfTurn = idOf("<|eot|>");
  const encoder = new TextEncoder();

  const renderMessage = (message: Message, isFirst: boolean): number[] => {
    const bytes = encoder.encode(textOf(message));
    const unmarked = isFirst && message.role === "user" && bytes.length > 0;
    return [
      ...(unmarked ? [] : [idOf(`<|${message.role}|>`)]),
      ...bytes,
      ...(message.role === "assistant" ? [endOfTurn] : []),
    ];
  };
  const prompt = (messages: readonly Message[], isStart: boolean): number[] => {
    const ids = messages.flatMap((message, i) => renderMessage(message, isStart && i === 0));
    ids.push(idOf("<|assistant|>"));
    return ids;
  };

  return {
    name: "bytes",
    accepts,
    stopTokenIds: [endOfTurn],
    start: ({ messages, tools = [] }) => {
      assertTextOnly(messages, tools.length);
      return prompt(messages, true);
    },
    extend: ({ ids, messages, messageCount, tools = [] }) => {
      const added = messages.slice(messageCount);
      assertTextOnly(added, tools.length);
      return [...(ids.at(-1) === endOfTurn ? [] : [endOfTurn]), ...prompt(added, false)];
    },
    complete: (message) => {
      assertTextOnly([message], 0);
      return [...encoder.encode(textOf(message)), endOfTurn];
    },
    parse: ({ ids, finish, stopString }) => {
      const text = tokenizer.decode(ids.at(-1) === endOfTurn ? ids.slice(0, -1) : ids);
      const cut = stopString === undefined ? -1 : text.indexOf(stopString);
      return { message: textMessage("assistant", cut < 0 ? text : text.slice(0, cut)), finish };
    },
  };
}

function assertTextOnly(messages: readonly Message[], toolCount: number): void {
  assertExpressible({ renderer: "bytes", accepts, messages });
  if (toolCount > 0 || messages.some((message) => (message.toolCalls?.length ?? 0) > 0)) {
    throw new LyceumError({
      code: "policy.unsupported-input",
      message: "The byte renderer has no form for tools or tool calls.",
      hint: "Describe the tools in the prompt, or use a model whose chat template lists tools.",
    });
  }
}
