import { LyceumError } from "../../contract/errors/lyceum-error.ts";
import { isJsonObject } from "../../contract/json.ts";
import { type Message, type Part, type ToolSpec, textOf } from "../../contract/message.ts";
import { byteCallText, readByteCalls } from "./assistant-text.ts";
import { createByteTokenizer } from "./byte-tokenizer.ts";
import type { Renderer } from "./renderer.ts";
import { settledParts } from "./settled-parts.ts";
import { assertExpressible } from "./unsupported-input.ts";

const accepts = ["text"] as const;

/**
 * Creates the renderer of the byte tokenizer, which produces short prompts. A message is its role's marker and the
 * bytes of its text. An assistant's message ends with `<|eot|>`. Two rules keep prompts short: the marker of a first
 * user message is omitted unless its text is empty, and other messages have no end marker. So the user message `12+34=`
 * is six bytes and `<|assistant|>`. Different conversations have different ids, because special tokens in a text are
 * encoded as bytes.
 *
 * A tool call follows the assistant's text as `<|tool|>`, the tool's name and its arguments (if any) as JSON. A tool
 * result is a `tool` message. Only the names of tools are rendered: `<|bos|>look,take` before a first message, which
 * then has a marker.
 */
export function createByteRenderer(): Renderer {
  const tokenizer = createByteTokenizer();
  const idOf = (token: string): number => tokenizer.tokenId(token)!;
  const endOfTurn = idOf("<|eot|>");
  const toolMark = idOf("<|tool|>");
  const encoder = new TextEncoder();

  const renderAnswer = (message: Message): number[] => [
    ...encoder.encode(textOf(message)),
    ...(message.toolCalls ?? []).flatMap((call) => [toolMark, ...encoder.encode(byteCallText(call))]),
    endOfTurn,
  ];
  const renderMessage = (message: Message, isUnmarked: boolean): number[] => {
    const bytes = message.role === "assistant" ? renderAnswer(message) : [...encoder.encode(textOf(message))];
    return isUnmarked && message.role === "user" && bytes.length > 0 ? bytes : [idOf(`<|${message.role}|>`), ...bytes];
  };
  const renderTools = (tools: readonly ToolSpec[]): number[] =>
    tools.length === 0 ? [] : [idOf("<|bos|>"), ...encoder.encode(tools.map(({ name }) => name).join(","))];
  /** Returns the ids of the tool list at the start of a prompt: those before the first marker. */
  const toolIds = (ids: readonly number[]): readonly number[] =>
    ids[0] === idOf("<|bos|>")
      ? ids.slice(
          0,
          ids.findIndex((id, i) => i > 0 && id > 255),
        )
      : [];
  const prompt = (messages: readonly Message[], isStart: boolean): number[] => {
    const ids = messages.flatMap((message, i) => renderMessage(message, isStart && i === 0));
    ids.push(idOf("<|assistant|>"));
    return ids;
  };

  return {
    specificationVersion: "v1",
    name: "bytes",
    accepts,
    stopTokenIds: [endOfTurn],
    start: ({ messages, tools = [] }) => {
      assertRenderable(messages);
      return [...renderTools(tools), ...prompt(messages, tools.length === 0)];
    },
    extend: ({ ids, messages, messageCount, tools = [] }) => {
      const added = messages.slice(messageCount);
      assertRenderable(added);
      const toolList = renderTools(tools);
      if (!isSame(toolList, toolIds(ids.first))) return "broken";
      return [...(ids.lastId === endOfTurn ? [] : [endOfTurn]), ...prompt(added, false)];
    },
    complete: (message) => {
      assertRenderable([message]);
      return renderAnswer(message);
    },
    parse: ({ ids, finish, stopString }) => {
      const pieces = splitAt(toolMark, ids.at(-1) === endOfTurn ? ids.slice(0, -1) : ids).map(tokenizer.decode);
      const { text, toolCalls, parseErrors } = readByteCalls(cutAt(stopString, pieces));
      const content: Part[] = text === "" && toolCalls.length > 0 ? [] : [{ type: "text", text }];
      return {
        message: { role: "assistant", content, ...(toolCalls.length === 0 ? {} : { toolCalls }) },
        finish: finish === "stop" && toolCalls.length > 0 ? "tool-calls" : finish,
        ...(parseErrors.length === 0 ? {} : { parseErrors }),
      };
    },
    settledParts: (text) => settledParts(text, { toolCallFormat: "bytes" }),
  };
}

function isSame(first: readonly number[], second: readonly number[]): boolean {
  return first.length === second.length && first.every((id, i) => id === second[i]);
}

function splitAt(mark: number, ids: readonly number[]): number[][] {
  const pieces: number[][] = [[]];
  for (const id of ids) {
    if (id === mark) pieces.push([]);
    else pieces.at(-1)!.push(id);
  }
  return pieces;
}

/** Cuts the pieces at a stop sequence. */
function cutAt(stopString: string | undefined, pieces: readonly string[]): readonly string[] {
  if (stopString === undefined) return pieces;
  const last = pieces.findIndex((piece) => piece.includes(stopString));
  if (last < 0) return pieces;
  const cut = pieces[last]!.slice(0, pieces[last]!.indexOf(stopString));
  return [...pieces.slice(0, last), cut];
}

function assertRenderable(messages: readonly Message[]): void {
  assertExpressible({ renderer: "bytes", accepts, messages });
  for (const { name, arguments: values } of messages.flatMap(({ toolCalls = [] }) => toolCalls)) {
    if (/^[\w.:/-]+$/.test(name) && isJsonObject(values)) continue;
    throw new LyceumError({
      code: "policy.unsupported-input",
      message: `The byte renderer cannot render a call of ${JSON.stringify(name)} with ${JSON.stringify(values)}.`,
      hint: "A tool's name may contain letters, digits, _, -, ., : and /. Its arguments must be a JSON object.",
    });
  }
}
