import type { ControlTokens } from "./control-tokens.ts";

/** Noncharacters and private characters: no tokenizer or template gives one a meaning. */
const pool = [...range(0xfdd0, 0xfdef), ...range(0xe000, 0xf8ff)].map((code) => String.fromCharCode(code));
const poolPattern = /[\ufdd0-\ufdef\ue000-\uf8ff]/g;

/**
 * Marks what comes from the content of messages in a text that a template renders. A character of content that a
 * control token needs is replaced by a mark: one private character for it, so that lengths, blanks and JSON stay as
 * they are. No control token has a mark in it, so each control token in the text is the template's own.
 */
export class ContentMarks {
  readonly #controlTokens: ControlTokens;
  readonly #keys: RegExp;
  readonly #markOf = new Map<string, string>();
  readonly #characterOf = new Map<string, string>();
  #sawToken = false;

  /** `keys`: the characters of which each control token has one. */
  constructor(options: { readonly controlTokens: ControlTokens; readonly keys: string }) {
    this.#controlTokens = options.controlTokens;
    const keys = options.keys.replace(/[\\^\]-]/g, String.raw`\$&`);
    this.#keys = new RegExp(`[${keys}${poolPattern.source.slice(1)}`, "g");
  }

  /** The tokens that content does not write. */
  get controlTokens(): ReadonlySet<string> {
    return this.#controlTokens.tokens;
  }

  /** Whether there is a mark. */
  get isUsed(): boolean {
    return this.#markOf.size > 0;
  }

  /** Whether a marked text had a whole control token. */
  get sawToken(): boolean {
    return this.#sawToken;
  }

  /** A text of a message, marked. Bound, to be passed on. */
  readonly mark = (text: string): string => {
    const marked = this.markKeys(text);
    const edges = this.#controlTokens.edges(text);
    if (edges.length === 0) return marked;
    const characters = marked.split("");
    for (const at of edges) if (characters[at] === text[at]) characters[at] = this.#mark(text[at]!);
    return characters.join("");
  };

  /** The same without marks where content only touches what the template writes. */
  readonly markKeys = (text: string): string => {
    const marked = text.replace(this.#keys, (character) => this.#mark(character));
    if (marked !== text) this.#sawToken ||= this.#controlTokens.find(text).length > 0;
    return marked;
  };

  /** What a marked text stands for: of the same length. */
  unmark(text: string): string {
    return text.replace(poolPattern, (mark) => this.#characterOf.get(mark) ?? mark);
  }

  /** The text without the marks of other characters than private ones: no mark can be taken for a character. */
  unmarkMost(text: string): string {
    return text.replace(poolPattern, (mark) => {
      const character = this.#characterOf.get(mark);
      return character === undefined || isPrivate(character) ? mark : character;
    });
  }

  /** The mark for a character. With all 6,432 in use, the character is lost. */
  #mark(character: string): string {
    const known = this.#markOf.get(character);
    if (known !== undefined) return known;
    const mark = pool[this.#markOf.size] ?? "\ufffd";
    this.#markOf.set(character, mark);
    if (mark !== "\ufffd") this.#characterOf.set(mark, character);
    return mark;
  }
}

function isPrivate(character: string): boolean {
  return character.search(poolPattern) === 0;
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}
