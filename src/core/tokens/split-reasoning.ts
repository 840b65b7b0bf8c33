import { type Message, type Part, textOf } from "../../contract/message.ts";
import { messageProblem } from "../../contract/message-problem.ts";
import type { ActResult } from "../../contract/policy.ts";

/**
 * The tags around reasoning that models write themselves: most models, Magistral, Seed-OSS, Kimi, Command A. Tags that
 * a prompt asks for, such as `<reasoning>`, are text of the answer.
 */
const tagPairs = [
  ["<think>", "</think>"],
  ["[THINK]", "[/THINK]"],
  ["<seed:think>", "</seed:think>"],
  ["◁think▷", "◁/think▷"],
  ["<|START_THINKING|>", "<|END_THINKING|>"],
] as const;

/** The tags that end reasoning. */
export const reasoningEnds: readonly string[] = tagPairs.map(([, end]) => end);

/** A text without its reasoning, and the reasoning. */
export interface SplitText {
  readonly reasoning: string;
  readonly rest: string;
}

/**
 * Splits a text at the end of its leading reasoning: one block or several. Without an end, all of it is reasoning.
 * `startsInside` says whether the prompt opened the reasoning. If it is undefined, nobody knows, and two more forms are
 * reasoning: what precedes an end without an opening tag, and a block that begins on a later line. Tags that are quoted
 * or are part of code or of a tool call are text then.
 */
export function splitReasoning(text: string, startsInside: boolean | undefined): SplitText {
  const thoughts: string[] = [];
  for (let rest = text; ; ) {
    const split = splitOnce(rest, startsInside);
    thoughts.push(split.reasoning);
    // Removing a block can reveal another one: its tag may no longer be in a code block.
    if (startsInside !== undefined || split.rest === rest) return { reasoning: joined(thoughts), rest: split.rest };
    rest = split.rest;
  }
}

function splitOnce(text: string, startsInside: boolean | undefined): SplitText {
  const thoughts: string[] = [];
  let kept = "";
  let rest = text;
  const next = (): Block | undefined =>
    blockAtStart(rest) ?? (startsInside === undefined ? (loneEnd(rest) ?? laterBlock(rest)) : undefined);
  for (let block = startsInside ? openStart(rest) : next(); block !== undefined; block = next()) {
    thoughts.push(rest.slice(block.from, block.to).trim());
    kept += rest.slice(0, block.at);
    rest = withoutBlankStart(rest.slice(block.end));
  }
  return { reasoning: joined(thoughts), rest: kept + rest };
}

function joined(thoughts: readonly string[]): string {
  return thoughts.filter((thought) => thought !== "").join("\n\n");
}

/** True if a text is empty or may become an opening tag, apart from blanks before it. */
export function mayOpenReasoning(text: string): boolean {
  const begun = text.trimStart();
  return tagPairs.some(([start]) => start.startsWith(begun));
}

/**
 * Moves the reasoning that an assistant's text begins with into a reasoning part. Returns a message without such
 * reasoning unchanged.
 */
export function withSeparateReasoning(message: Message): Message {
  if (message.role !== "assistant") return message;
  const text = textOf(message);
  const { reasoning, rest } = splitReasoning(text, undefined);
  if (rest === text) return message;
  const { content, toolCalls = [] } = message;
  const thoughts = content.filter(({ type }) => type === "reasoning");
  if (reasoning !== "") thoughts.push({ type: "reasoning", text: reasoning });
  const images = content.filter(({ type }) => type === "image");
  const isSilent = rest === "" && (thoughts.length > 0 || toolCalls.length > 0);
  const answer: Part[] = isSilent ? [] : [{ type: "text", text: rest }];
  return { ...message, content: [...thoughts, ...answer, ...images] };
}

/**
 * Returns a policy's answer with its reasoning in a part of its own. Every answer passes through here, because only
 * some servers and programs separate reasoning. Returns an invalid answer unchanged.
 */
export function withoutInlineReasoning(result: ActResult): ActResult {
  const { action } = result ?? {};
  if (messageProblem(action?.message) !== undefined) return result;
  const message = withSeparateReasoning(action.message);
  return message === action.message ? result : { ...result, action: { ...action, message } };
}

/** A block of reasoning in a text: from `at` to `end` with its tags, from `from` to `to` without them. */
interface Block {
  readonly at: number;
  readonly from: number;
  readonly to: number;
  readonly end: number;
}

/**
 * Returns the block from `from` to the first end tag that is not quoted. If all are quoted, the last one ends it; without
 * one, it ends with the text.
 */
function blockTo(text: string, tag: string, { at, from }: Pick<Block, "at" | "from">): Block {
  let to = text.indexOf(tag, from);
  for (let next = to; next >= 0; next = text.indexOf(tag, next + tag.length)) {
    to = next;
    if (
      !isQuoted(text.slice(Math.max(from, next - longestLine), next), text.slice(next + tag.length, next + longestLine))
    )
      break;
  }
  return to < 0 ? { at, from, to: text.length, end: text.length } : { at, from, to, end: to + tag.length };
}

function blockAtStart(text: string): Block | undefined {
  const blanks = text.length - text.trimStart().length;
  const pair = tagPairs.find(([start]) => text.startsWith(start, blanks));
  return pair && blockTo(text, pair[1], { at: 0, from: blanks + pair[0].length });
}

/** Returns the block that the prompt opened. Models may repeat the opening tag. */
function openStart(text: string): Block {
  return blockAtStart(text) ?? blockTo(text, tagPairs[0][1], { at: 0, from: 0 });
}

/** Returns the text before the first end tag without an opening tag before it. */
function loneEnd(text: string): Block | undefined {
  const isLiteral = literalTags(text);
  const blocks = tagPairs.flatMap(([start, end]): Block[] => {
    const first = text.indexOf(start);
    for (let at = text.indexOf(end); at >= 0; at = text.indexOf(end, at + end.length)) {
      if (first >= 0 && first < at) return [];
      if (!isLiteral(at, at + end.length)) return [{ at: 0, from: 0, to: at, end: at + end.length }];
    }
    return [];
  });
  return blocks.toSorted((a, b) => a.to - b.to)[0];
}

/** Returns the first block that begins on a later line. */
function laterBlock(text: string): Block | undefined {
  const isLiteral = literalTags(text);
  const blocks = tagPairs.flatMap(([start, end]): Block[] => {
    for (let at = text.indexOf(start); at >= 0; at = text.indexOf(start, at + 1)) {
      const line = text.slice(Math.max(text.lastIndexOf("\n", at) + 1, at - longestLine), at);
      const begins = at - line.length;
      if (begins === 0 || line.trim() !== "" || isLiteral(begins, at + start.length)) continue;
      return [blockTo(text, end, { at: begins, from: at + start.length })];
    }
    return [];
  });
  return blocks.toSorted((a, b) => a.at - b.at)[0];
}

/** Returns a function that says of a tag in a text whether it is quoted, or is part of a code block or of a tool call. */
function literalTags(text: string): (from: number, to: number) => boolean {
  const fences = fencesOf(text);
  return (from, to) => {
    const before = text.slice(0, from);
    if (isQuoted(before, text.slice(to, to + longestLine)) || isInFence(text, fences, { from, to })) return true;
    return before.lastIndexOf("<tool_call>") > before.lastIndexOf("</tool_call>");
  };
}

const quotePairs = [
  '""',
  "''",
  "``",
  "\u201C\u201D",
  "\u2018\u2019",
  "\u201E\u201C",
  "\u00AB\u00BB",
  "\u300C\u300D",
  "\u300E\u300F",
  "[]",
  "()",
];
/** Marks that end no sentence inside of a quotation: `"</think>."`. */
const punctuation = /^\s*[.,;:!?\u2026\u3002\uFF0C]?\s*/;
/** A quotation mark that ends a quotation before a tag: `"yes"</think>`. A string of code may have a letter before it. */
const closedQuote = /(?:[\p{L}\p{N}]{3}|[.,;:!?)\]}\d])["']\s*$/u;
/** Quotations that a tag is within: the texts of its line before and after it. Apostrophes are none. */
const quotations: readonly (readonly [before: RegExp, after: RegExp])[] = [
  [/(?:^|[\s([{\u2013\u2014:])"(?=\S|$)[^"]*$/, /^[^"\n]*"(?![\p{L}\p{N}])/u],
  [/\u201C[^\u201D]*$/, /^[^\u201C\n]*\u201D/],
  [/\u201E[^\u201C]*$/, /^[^\u201E\n]*\u201C/],
  [/\u00AB[^\u00BB]*$/, /^[^\u00AB\n]*\u00BB/],
  [/\u300C[^\u300D]*$/, /^[^\u300C\n]*\u300D/],
  [/\u300E[^\u300F]*$/, /^[^\u300E\n]*\u300F/],
];
/** Where a quotation is looked for around a tag. */
const longestLine = 500;

/** True if a tag between two texts is in quotation marks or in inline code, alone or with other words of its line. */
function isQuoted(before: string, after: string): boolean {
  const line = before.slice(Math.max(before.lastIndexOf("\n") + 1, before.length - longestLine));
  const rest = /^[^\n]{0,500}/.exec(after)![0];
  const [left, right] = [line.trimEnd().at(-1) ?? "", rest.replace(punctuation, "")[0] ?? ""];
  if (right !== "" && quotePairs.includes(left + right) && !closedQuote.test(line)) return true;
  if (quotations.some(([opened, closed]) => opened.test(line) && closed.test(rest))) return true;
  // Runs of three or more backticks are fences.
  const open = line.replace(/`{3,}/g, "").split("`").length % 2 === 0;
  return open && /`/.test(rest.replace(/`{3,}/g, ""));
}

/** True if further text can make a tag quoted: if its line is not complete and has an open quotation before it. */
function mayBecomeQuoted(before: string, after: string): boolean {
  if (after.includes("\n") || after.length >= longestLine) return false;
  const line = before.slice(Math.max(before.lastIndexOf("\n") + 1, before.length - longestLine));
  const last = line.trimEnd().at(-1);
  if (last !== undefined && quotePairs.some(([open]) => open === last)) return true;
  return quotations.some(([opened]) => opened.test(line)) || line.replace(/`{3,}/g, "").split("`").length % 2 === 0;
}

/** Returns the beginning of an unfinished text in which further text turns no end of reasoning into a quoted one. */
export function withoutUndecidedEnd(text: string): string {
  let end = text.length;
  for (const tag of reasoningEnds) {
    for (let at = text.indexOf(tag); at >= 0 && at < end; at = text.indexOf(tag, at + tag.length)) {
      const after = text.slice(at + tag.length, at + tag.length + longestLine);
      if (mayBecomeQuoted(text.slice(Math.max(0, at - longestLine), at), after)) end = at;
    }
  }
  return text.slice(0, end);
}

/** A line that opens or closes a code block. */
interface Fence {
  /** Where its line begins. */
  readonly at: number;
  readonly marks: string;
  readonly info: string;
}

function fencesOf(text: string): Fence[] {
  return Array.from(text.matchAll(/^[ \t>]*(`{3,}|~{3,})(.*)$/gm), ({ index, 1: marks, 2: info }) => {
    return { at: index, marks: marks!, info: info!.trim() };
  });
}

/**
 * True if a fence of a text is open before a tag and closed after it. A block that is never closed hides nothing. The two
 * parts of the tag's own line count as lines.
 */
function isInFence(
  text: string,
  fences: readonly Fence[],
  tag: { readonly from: number; readonly to: number },
): boolean {
  if (fences.length === 0) return false;
  const line = text.lastIndexOf("\n", tag.from - 1) + 1;
  const next = text.indexOf("\n", tag.to);
  const end = next < 0 ? text.length : next;
  const earlier = fences.filter(({ at }) => at < line);
  let open: string | undefined;
  for (const { marks, info } of [...earlier, ...fencesOf(text.slice(line, tag.from))]) {
    if (open === undefined) open = marks;
    else if (marks.startsWith(open) && info === "") open = undefined;
  }
  if (open === undefined) return false;
  const closing = open;
  const later = [...fencesOf(text.slice(tag.to, end)), ...fences.filter(({ at }) => at > end)].filter(({ marks }) =>
    marks.startsWith(closing),
  );
  // If their number is even, they are the fences of other blocks.
  return later.length % 2 === 1 && later[0]!.info === "";
}

/** Removes blank lines at the start, but not the indentation of the first line of code. */
function withoutBlankStart(text: string): string {
  const lines = /^(?:[^\S\n]*\n)+/.exec(text)?.[0];
  return lines === undefined ? text.trimStart() : text.slice(lines.length);
}
