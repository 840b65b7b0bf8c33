import { untilClosingBrace } from "../../src/parsers/extract-boxed.ts";

/** The part of a text that states its answer. */
export interface StatedAnswer {
  readonly text: string;
  /** How it was marked; `none`: no mark, so it is the whole text. */
  readonly mark: "boxed" | "hashes" | "tag" | "phrase" | "none";
}

interface Mark {
  readonly mark: Exclude<StatedAnswer["mark"], "none">;
  readonly pattern: RegExp;
  /** The stated text, from what follows the pattern. Undefined when the mark was never closed. */
  readonly read: (rest: string) => string | undefined;
}

/** A stated answer is cut here; a mark that is closed later is not closed. */
const maximumLength = 1000;

const toLineEnd = (rest: string): string => /^[^\n]*/.exec(rest)![0];
/** A formula that it begins with may have lines of its own. */
const toSentenceEnd = (rest: string): string =>
  /^(?:\$\$[^$]+\$\$|\\\[[\s\S]+?\\\])?(?:[^\n.]|\.(?=\S))*/.exec(rest)![0];
/** What follows "the answer is" where it tells something about an answer that was stated before. */
const remark = "(?:also\\s+)?(?:known|called)\\b|(?:correct|right|reasonable|valid)[.,!]";
/** Words between "the answer is" and the answer. */
const leadIn = "(?:(?:simply|just|given\\s+by|written\\s+as|equal\\s+to)\\b[\\s:*_]*)*";
const phrase = new RegExp(
  String.raw`\banswer\b(?:[^.:=\n]{0,80}?\b(?:is|are|equals)\b(?!\s+(?:${remark}))|[\s*_]*[:=])[\s:*_]*${leadIn}`,
  "gi",
);

const marks: readonly Mark[] = [
  { mark: "boxed", pattern: /\\(?:boxed|fbox)\s*\{/g, read: untilClosingBrace },
  { mark: "hashes", pattern: /(?<!#)####(?!#)/g, read: toLineEnd },
  { mark: "tag", pattern: /<answer>/gi, read: (rest) => /^([^<]|<(?!\/answer>))*(?=<\/answer>)/i.exec(rest)?.[0] },
  { mark: "phrase", pattern: phrase, read: toSentenceEnd },
];

/**
 * The answer that a text states last: in `\boxed{}`, after `####`, in `<answer>` tags, or after "the answer is" or
 * "Answer:". Without any of these the whole text stands for it.
 */
export function statedAnswer(text: string): StatedAnswer {
  let last: StatedAnswer = { text, mark: "none" };
  let lastPosition = -1;
  for (const { mark, pattern, read } of marks) {
    const positions = Array.from(text.matchAll(pattern), (match) => match.index + match[0].length);
    for (const position of positions.reverse()) {
      if (position <= lastPosition) break;
      const stated = read(text.slice(position, position + maximumLength));
      if (stated === undefined) continue;
      last = { text: mark === "boxed" ? listedBoxes(text, { position, stated }) : stated, mark };
      lastPosition = position;
      break;
    }
  }
  return last;
}

/** What may stand between the boxes of one list, as in `$\boxed{1}$, $\boxed{2}$ and $\boxed{3}$`. */
const betweenBoxes =
  /^\}[ \t$\\()]*(?:[,;]|(?:[,;][ \t]*)?(?:\\text\s*\{\s*)?(?:and|or)\b(?:\s*\})?)[ \t$\\()]*\\(?:boxed|fbox)\s*\{$/;
const mostBoxes = 20;

/** The content of a box, after that of the boxes that are listed before it. */
function listedBoxes(text: string, last: { readonly position: number; readonly stated: string }): string {
  const found = [last.stated];
  let { position } = last;
  const before = text.slice(Math.max(0, position - maximumLength), position);
  const starts = Array.from(before.matchAll(/\\(?:boxed|fbox)\s*\{/g), (match) => match.index + match[0].length);
  for (const start of starts
    .map((at) => at + position - before.length)
    .reverse()
    .slice(1, mostBoxes)) {
    const stated = untilClosingBrace(text.slice(start, position));
    if (stated === undefined || !betweenBoxes.test(text.slice(start + stated.length, position))) break;
    if (!found.includes(stated)) found.unshift(stated);
    position = start;
  }
  return found.join(", ");
}
