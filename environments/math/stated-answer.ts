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
const toSentenceEnd = (rest: string): string => /^(?:[^\n.]|\.(?=\S))*/.exec(rest)![0];

const marks: readonly Mark[] = [
  { mark: "boxed", pattern: /\\f?boxed\s*\{/g, read: toClosingBrace },
  { mark: "hashes", pattern: /(?<!#)####(?!#)/g, read: toLineEnd },
  { mark: "tag", pattern: /<answer>/gi, read: (rest) => /^([^<]|<(?!\/answer>))*(?=<\/answer>)/i.exec(rest)?.[0] },
  {
    mark: "phrase",
    pattern: /\banswer\b(?:[^.:=\n]{0,80}?\b(?:is|are|equals)\b|[\s*_]*[:=])[\s:*_]*/gi,
    read: toSentenceEnd,
  },
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
      last = { text: stated, mark };
      lastPosition = position;
      break;
    }
  }
  return last;
}

function toClosingBrace(rest: string): string | undefined {
  let depth = 1;
  for (let i = 0; i < rest.length; i++) {
    if (rest[i] === "{") depth++;
    else if (rest[i] === "}" && --depth === 0) return rest.slice(0, i);
  }
  return undefined;
}
