import { untilClosingBrace } from "../../src/core/parsers/extract-boxed.ts";
import { withoutReason } from "./clause.ts";
import { cleanReply } from "./clean-reply.ts";
import { withPlainLabels } from "./plain-labels.ts";
import { withCountedDozens } from "./scale-words.ts";
import { sentenceValue } from "./sentence-value.ts";
import { afterWithdrawal } from "./withdrawal.ts";

/** The part of a text that states its answer. */
export interface StatedAnswer {
  readonly text: string;
  /** The kind of mark. `none`: there is no mark, and the text is the whole reply. */
  readonly mark: "boxed" | "hashes" | "tag" | "phrase" | "none";
}

interface Mark {
  readonly mark: Exclude<StatedAnswer["mark"], "none">;
  readonly pattern: RegExp;
  /** Returns the stated text, from the text after the pattern, or undefined if the mark is not closed. */
  readonly read: (rest: string) => string | undefined;
}

/** The maximum length of a stated answer. A mark that is closed later counts as not closed. */
const maximumLength = 1000;

const toLineEnd = (rest: string): string => /^\s*[^\n]*/.exec(rest)![0];
/** Reads to the end of the sentence. A formula at its start may span several lines. */
const toSentenceEnd = (rest: string): string =>
  /^(?:\$\$[^$]+\$\$|\\\[[\s\S]+?\\\])?(?:[^\n.]|\.(?=\S))*/.exec(rest)![0];
/** The words after "the answer is" in a remark about an earlier answer. */
const remark = "(?:also\\s+)?(?:known|called)\\b|(?:correct|right|wrong|incorrect|reasonable|valid)(?:[.,!]|\\s*$)";
/** Words between "the answer is" and the answer. */
const leadIn = "(?:(?:simply|just|given\\s+by|written\\s+as|equal\\s+to)\\b[\\s:*_]*)*";
const phrase = new RegExp(
  String.raw`\banswer\b(?:[^.:=\n<>]{0,80}?\b(?:is|are|equals)\b(?!\s+(?:${remark}))|[\s*_]*[:=])[\s:*_}]*${leadIn}`,
  "gi",
);

/** A line that only labels the next one: `### Final answer`. */
const heading = /^[ \t]*(?:#{1,6}[ \t]+)?(?:(?:the|my|your|final|correct)[ \t]+)*answer[ \t]*\n\s*(?=\S)/gim;
/** Words for "answer" in other languages, in scripts without spaces and with them. */
const foreignAnswer =
  "答案|答え|回答|解答|答(?=\\s*:)|정답|답(?=[은는이]|\\s*:)|คำตอบ|(?<!\\p{L})(?:ответ\\p{L}*|відповід\\p{L}*|respuesta|réponse|antwort|lösung|ergebnis|risposta|resposta|antwoord|odpowied\\p{L}*|odpověď|svaret|svar|cevab\\p{L}*|cevap|yanıt|đáp án|đáp số|câu trả lời|jawaban\\p{L}*|respons\\p{L}*|válasz|vastaus|[وف]?(?:ال)?[إا]جابة|[وف]?(?:ال)?جواب|उत्तर|जवाब|উত্তর|απάντηση|ה?תשובה|پاسخ)(?!\\p{L})";
const foreignPhrase = new RegExp(
  `(?:${foreignAnswer})(?:[^\\d.!?\\n;:=<>$\\\\]{0,40}?[:=]\\s*|(?=[^\\d.!?\\n;:=<>$\\\\]{0,40}[\\d$\\\\€£¥]))`,
  "giu",
);

/** A sentence whose subject is the answer: "46 is the answer". */
const subject =
  /(?<=^|\n[ \t]{0,4}|[.!?:;,][ \t]{1,4})(?!(?:which|that|this|it|what|who|and|so|but) is\b)(?=[^\n.!?;:]{0,60}[\d$\\])(?=\S(?:[^\n.!?;:]|\.\d){0,60}?\bis (?:the|my) (?:(?:final|correct|right) )*answer\b(?!\?))/gi;
const toVerb = (rest: string): string | undefined => /^[\s\S]*?(?=\s+is (?:the|my)\b)/i.exec(rest)?.[0];

const marks: readonly Mark[] = [
  { mark: "boxed", pattern: /\\(?:boxed|fbox)\s*\{/g, read: untilClosingBrace },
  { mark: "hashes", pattern: /(?<!#)####(?!#)/g, read: toLineEnd },
  { mark: "tag", pattern: /<answer>/gi, read: (rest) => /^([^<]|<(?!\/answer>))*(?=<\/answer>)/i.exec(rest)?.[0] },
  { mark: "phrase", pattern: phrase, read: toSentenceEnd },
  { mark: "phrase", pattern: heading, read: toSentenceEnd },
  { mark: "phrase", pattern: foreignPhrase, read: toSentenceEnd },
  { mark: "phrase", pattern: subject, read: toVerb },
];

/**
 * Returns the last stated answer of a text: in `\boxed{}`, after `####`, in `<answer>` tags, or after "the answer is"
 * or "Answer:". If the stated text is a sentence ("Answer: The sum is 34."), returns the value of its subject. Without
 * a mark, returns the whole text without chat tokens. What the text withdraws or denies later is not stated.
 */
export function statedAnswer(reply: string): StatedAnswer {
  const text = withPlainLabels(cleanReply(reply));
  const answer = keptAnswer(text);
  return { ...answer, text: withCountedDozens(answer.text) };
}

/** Returns the last stated answer that the text neither withdraws nor denies. */
function keptAnswer(text: string): StatedAnswer {
  const { answer, position } = lastAnswer(text);
  const after = text.slice(position);
  const rest = afterWithdrawal(after);
  if (rest !== undefined) return lastAnswer(rest).answer;
  const denied = endOfDenial(text, { answer, position });
  if (denied === undefined) return answer;
  if (/\d/.test(after.slice(denied))) return lastAnswer(after.slice(denied)).answer;
  const earlier = lastAnswer(text.slice(0, position)).answer;
  const isOther = earlier.mark !== "none" && earlier.text.trim() !== answer.text.trim();
  return isOther ? earlier : { text: "", mark: answer.mark };
}

/** Words after a closed mark that deny its number: `\boxed{45} is wrong`. */
const denial =
  /^(?:\}|<\/answer>)[\s$*)\\\]]{0,8}(?:(?:is|was) (?:(?:clearly|also|still|just|simply) )?(?:(?:an?|the) )?(?:wrong|incorrect|mistaken)|(?:is|was)(?: not|n['’]t) (?:the )?(?:right|correct)|(?:can(?:not|['’]t)|could(?: not|n['’]t)) be (?:right|correct))\b/i;
/** Words before a mark that may be asked for as wrong: "Statement 3 is wrong". */
const named =
  /\b(?:statements?|options?|choices?|steps?|lines?|claims?|items?|sentences?|equations?)[\s$(]*(?:\\boxed\{|<answer>)$/i;

/** Returns where the words end that deny an answer, from its position, or undefined if there are none. */
function endOfDenial(
  text: string,
  { answer, position }: { readonly answer: StatedAnswer; readonly position: number },
): number | undefined {
  if (answer.mark !== "boxed" && answer.mark !== "tag") return undefined;
  const after = text.slice(position);
  const length = (answer.mark === "boxed" ? untilClosingBrace(after) : /^[^<]*/.exec(after)![0])?.length ?? 0;
  const match = denial.exec(after.slice(length, length + 80));
  return match === null || named.test(text.slice(Math.max(0, position - 40), position))
    ? undefined
    : length + match[0].length;
}

function lastAnswer(text: string): { readonly answer: StatedAnswer; readonly position: number } {
  let last: StatedAnswer = { text, mark: "none" };
  let [lastPosition, boxEnd] = [-1, -1];
  for (const { mark, pattern, read } of marks) {
    const positions = Array.from(text.matchAll(pattern), (match) => match.index + match[0].length);
    for (const position of positions.reverse()) {
      // A label inside of a box belongs to its content.
      if (position <= Math.max(lastPosition, boxEnd)) break;
      const stated = read(text.slice(position, position + maximumLength));
      if (stated === undefined) continue;
      last = {
        text: mark === "boxed" ? withoutLeadIn(listedBoxes(text, { position, stated })) : withoutNote(stated),
        mark,
      };
      lastPosition = position;
      if (mark === "boxed") boxEnd = position + stated.length;
      break;
    }
  }
  return { answer: last, position: Math.max(0, lastPosition) };
}

/** A remark after an answer that states no other answer: `34 (since 30 + 4 = 34)`. */
const note =
  /(?<=\S)\s+\((?=[^()]*(?:[A-Za-z]{3}|=|[^\0-\u024F]{2}))(?![^()]*\b(?:mod|base|or|not?|wrong|incorrect)\b)[^()]*\)\.?\s*$/i;

/** Returns the content of a box without introductory words: `34` of `\text{The sum is } 34`. */
function withoutLeadIn(content: string): string {
  const stated = content.replace(/^\s*(?:\\text[a-z]*\s*\{\s*)?(?:(?:the|final)\s+)*answer\s*[:=]\s*(?:\}\s*)?/i, "");
  const match = /^\s*\\text[a-z]*\s*\{([^{}]*)\}([\s\S]*)$/.exec(stated);
  return (match && sentenceValue(match[1]! + match[2]!)) ?? stated;
}

function withoutNote(stated: string): string {
  const answer = withoutReason(stated.replace(note, ""));
  return sentenceValue(answer) ?? answer;
}

/** The text between the boxes of one list, as in `$\boxed{1}$, $\boxed{2}$ and $\boxed{3}$`. */
const space = String.raw`(?:[\s$()*]|\\[()[\], ;]|\\q?quad\b)*`;
const conjunction = String.raw`(?:\\text\s*\{\s*)?(?:(?:and|or)\b|&)(?:\s*\})?`;
const name = String.raw`[A-Za-z](?:_\{?\w\}?)?`;
const betweenBoxes = new RegExp(
  String.raw`^\}${space}(?:[,;]${space}(?:${conjunction})?|${conjunction})${space}(?:${name}\s*=${space})?\\(?:boxed|fbox)\s*\{$`,
);
const nameOfBox = new RegExp(String.raw`(?<![A-Za-z\\=+*/^-]\s*)(${name})\s*=${space}\\(?:boxed|fbox)\s*\{$`);
const mostBoxes = 20;

/**
 * Returns the contents of a box and of the listed boxes before it. Includes their names if each box has one, as in `x =
 * \boxed{1} and y = \boxed{2}`.
 */
function listedBoxes(text: string, last: { readonly position: number; readonly stated: string }): string {
  let { position } = last;
  const before = text.slice(Math.max(0, position - maximumLength), position);
  const offset = position - before.length;
  const nameBefore = (at: number): string | undefined => nameOfBox.exec(text.slice(Math.max(0, at - 60), at))?.[1];
  const found = [{ stated: last.stated, name: nameBefore(position) }];
  const starts = Array.from(before.matchAll(/\\(?:boxed|fbox)\s*\{/g), (match) => match.index + match[0].length);
  for (const start of starts
    .map((at) => at + offset)
    .reverse()
    .slice(1, mostBoxes)) {
    const stated = untilClosingBrace(text.slice(start, position));
    if (stated === undefined || !betweenBoxes.test(text.slice(start + stated.length, position))) break;
    found.unshift({ stated, name: nameBefore(start) });
    position = start;
  }
  if (found.length === 1) return last.stated;
  const areNamed = found.every((box) => box.name !== undefined);
  return [...new Set(found.map((box) => (areNamed ? `${box.name} = ${box.stated}` : box.stated)))].join(", ");
}
