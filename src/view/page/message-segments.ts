import { isJsonObject, type Json, tryParseJson } from "../../json.ts";

/** A stretch of a message's text, from one character to another. */
export type Segment = { readonly from: number; readonly to: number; readonly text: string } & (
  | { readonly kind: "text" }
  /** A tool call between tags. `arguments` is absent if it cannot be read: `text` is what the model wrote. */
  | { readonly kind: "call"; readonly name?: string; readonly arguments?: Json }
  /** What a tool gave, between tags. */
  | { readonly kind: "result"; readonly name?: string }
);

const tagged =
  /<tool_call>([\s\S]*?)(?:<\/tool_call>|$)|<tool_response(?:\s+name="([^"]*)")?>\n?([\s\S]*?)\n?<\/tool_response>/g;

/** A text with the tool calls and results that stand in it between tags set apart. */
export function messageSegments(text: string): Segment[] {
  const segments: Segment[] = [];
  let end = 0;
  const add = (segment: Segment): void => {
    if (segment.kind !== "text" || segment.text.trim() !== "") segments.push(segment);
    end = segment.to;
  };
  for (const match of text.matchAll(tagged)) {
    const [whole, call, name, result] = match;
    const place = { from: match.index, to: match.index + whole.length };
    if (match.index > end) add({ kind: "text", from: end, to: match.index, text: text.slice(end, match.index) });
    if (call === undefined)
      add({ kind: "result", ...place, text: result ?? "", ...(name === undefined ? {} : { name }) });
    else add({ kind: "call", ...place, text: call.trim(), ...readCall(call) });
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
