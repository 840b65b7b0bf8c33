import { isJsonObject, type Json, tryParseJson } from "../../../contract/json.ts";
import type { Message } from "../../../contract/message.ts";

/** A stretch of a message's text, from one character to another. */
export type Segment = { readonly from: number; readonly to: number; readonly text: string } & (
  | { readonly kind: "text" }
  /** A tool call between tags. `arguments` is absent if it cannot be read: `text` is what the model wrote. */
  | { readonly kind: "call"; readonly name?: string; readonly arguments?: Json }
  /** What a tool gave, between tags. */
  | { readonly kind: "result"; readonly name?: string }
);

const tags = {
  call: /<tool_call>(?<body>[\s\S]*?)(?:<\/tool_call>|$)/g,
  result: /<tool_response(?:\s+name="(?<name>[^"]*)")?>\n?(?<body>[\s\S]*?)\n?<\/tool_response>/g,
} as const;

/**
 * A message's text with the tool calls that stand in it between tags set apart, or the results. Only an assistant calls:
 * in what it reads, such tags are examples.
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

/** The name and arguments of a call, as far as they can be read. Models write arguments as an object, or as its text. */
function readCall(text: string): { readonly name?: string; readonly arguments?: Json } {
  const call = tryParseJson<Json>(text);
  if (!isJsonObject(call) || typeof call.name !== "string") return {};
  const given = call.arguments ?? call.parameters ?? {};
  const read = typeof given === "string" ? tryParseJson<Json>(given) : given;
  return { name: call.name, ...(isJsonObject(read) ? { arguments: read } : {}) };
}

/** The tokens of a text that begin in a stretch of it. */
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
