import { isJsonObject, type Json, tryParseJson } from "../../../src/contract/json.ts";
import type { Message } from "../../../src/contract/message.ts";

/** A range of a message's text, in characters. */
export type Segment = { readonly from: number; readonly to: number; readonly text: string } & (
  | { readonly kind: "text" }
  /** A tool call in tags. `arguments` is absent if it cannot be parsed. `text` is the model's text. */
  | { readonly kind: "call"; readonly name?: string; readonly arguments?: Json }
  /** A tool's result in tags. */
  | { readonly kind: "result"; readonly name?: string }
);

const tags = {
  call: /<tool_call>(?<body>[\s\S]*?)(?:<\/tool_call>|$)/g,
  result: /<tool_response(?:\s+name="(?<name>[^"]*)")?>\n?(?<body>[\s\S]*?)\n?<\/tool_response>/g,
} as const;

/**
 * Splits a message's text into tool calls in tags, or results, and other text. Only assistants call tools. In prompts,
 * such tags are examples.
 */
export function messageSegments(text: string, role: Message["role"]): Segment[] {
  const kind = role === "assistant" ? "call" : "result";
  const segments: Segment[] = [];
  let end = 0;
  const add = (segment: Segment): void => {
    if (segment.kind !== "text" || segment.text.trim() !== "") segments.push(segment);
    end = segment.to;
  };
  for (const match of text.matchAll(tags[kind])) {
    const { body = "", name } = match.groups!;
    const place = { from: match.index, to: match.index + match[0].length };
    if (match.index > end) add({ kind: "text", from: end, to: match.index, text: text.slice(end, match.index) });
    if (kind === "call") add({ kind, ...place, text: body.trim(), ...readCall(body) });
    else add({ kind, ...place, text: body, name });
  }
  if (end < text.length) add({ kind: "text", from: end, to: text.length, text: text.slice(end) });
  return segments;
}

/** Parses the name and arguments of a call. Models write arguments as an object or as JSON text. */
function readCall(text: string): { readonly name?: string; readonly arguments?: Json } {
  const call = tryParseJson<Json>(text);
  if (!isJsonObject(call) || typeof call.name !== "string") return {};
  const given = call.arguments ?? call.parameters ?? {};
  const read = typeof given === "string" ? tryParseJson<Json>(given) : given;
  return { name: call.name, ...(isJsonObject(read) ? { arguments: read } : {}) };
}

/** Returns the tokens of a text that begin in a range. */
export function tokensWithin<Token extends { readonly text: string }>(
  tokens: readonly Token[],
  { from, to }: Pick<Segment, "from" | "to">,
): Token[] {
  let place = 0;
  return tokens.filter(({ text }) => {
    const start = place;
    place += text.length;
    return start >= from && start < to;
  });
}
