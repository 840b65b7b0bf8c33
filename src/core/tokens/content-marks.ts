import type { ControlTokens } from "./control-tokens.ts";

/** Noncharacters and private-use characters. They have no meaning in tokenizers and templates. */
const pool = [...range(0xfdd0, 0xfdef), ...range(0xe000, 0xf8ff)].map((code) => String.fromCharCode(code));
const poolPattern = /[\ufdd0-\ufdef\ue000-\uf8ff]/g;

/**
 * Marks the content of messages in the output of a template. In content, each character that control tokens need is
 * replaced by a mark: a private-use character. Lengths, blanks and JSON stay unchanged. A control token contains no
 * marks, so each control token in the output was written by the template itself.
 */
export class ContentMarks {
  readonly #controlTokens: ControlTokens;
  readonly #keys: RegExp;
  readonly #markOf = new Map<string, string>();
  readonly #characterOf = new Map<string, string>();
  #sawToken = false;

  /** `keys`: a set of characters of which each control token contains at least one. */
  constructor(options: { readonly controlTokens: ControlTokens; readonly keys: string }) {
    this.#controlTokens = options.controlTokens;
    const keys = options.keys.replace(/[\\^\]-]/g, String.raw`\$&`);
    this.#keys = new RegExp(`[${keys}${poolPattern.source.slice(1)}`, "g");
  }

  /** The tokens that content must not write. */
  get controlTokens(): ReadonlySet<string> {
    return this.#controlTokens.tokens;
  }

  /** True if at least one character was marked. */
  get isUsed(): boolean {
    return this.#markOf.size > 0;
  }

  /** True if a marked text contained a whole control token. */
  get sawToken(): boolean {
    return this.#sawToken;
  }

  /** Marks a text of a message. It is a bound function, so it can be passed on. */
  readonly mark = (text: string): string => {
    const marked = this.markKeys(text);
    const edges = this.#controlTokens.edges(text);
    if (edges.length === 0) return marked;
    const characters = marked.split("");
    for (const at of edges) if (characters[at] === text[at]) characters[at] = this.#mark(text[at]!);
    return characters.join("");
  };

  /** Like `mark`, but does not mark content that could only form a control token together with the template's text. */
  readonly markKeys = (text: string): string => {
    const markAll = (characters: string): string =>
      characters
        .split("")
        .map((character) => this.#mark(character))
        .join("");
    const marked = text.replace(this.#keys, markAll);
    if (this.#controlTokens.find(text).length === 0) return marked;
    this.#sawToken = true;
    // A normalizer may replace several characters by those of a token.
    return this.#controlTokens.find(marked).length === 0 ? marked : text.replace(/[^\s"\\\p{Cc}]+/gu, markAll);
  };

  /** True if `fewer`, the same text with fewer marks, has the same control tokens as `marked`. */
  isHarmless(fewer: string, marked: string): boolean {
    return this.#controlTokens.find(fewer).join("\n") === this.#controlTokens.find(marked).join("\n");
  }

  /** Replaces marks by their characters. The length stays the same. */
  unmark(text: string): string {
    return text.replace(poolPattern, (mark) => this.#characterOf.get(mark) ?? mark);
  }

  /**
   * Replaces marks by their characters, except those of private-use characters, so that no mark is taken for a
   * character.
   */
  unmarkMost(text: string): string {
    return text.replace(poolPattern, (mark) => {
      const character = this.#characterOf.get(mark);
      return character === undefined || isPrivate(character) ? mark : character;
    });
  }

  /** Returns the mark of a character. If all 6,432 marks are in use, the character is lost. */
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
