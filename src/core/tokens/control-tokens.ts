import { ContentMarks } from "./content-marks.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** The form of added tokens that are control tokens in every model, such as `<|fim_prefix|>` or `<｜User｜>`. */
const controlForm = /^<[|｜].*[|｜]>$/su;

/**
 * The tokens that only a template may write, never a message's text: the tokenizer's special tokens, added tokens that
 * the template itself writes (`<think>`, `<tool_call>`), and added tokens of the form `<|this|>`. Other added tokens,
 * such as runs of blanks or HTML tags, are ordinary text.
 */
export class ControlTokens {
  readonly tokens: ReadonlySet<string>;
  /** Each token contains at least one of these characters. */
  readonly #keys: string;
  /** True if the tokenizer recognizes some tokens in normalized text, to which other characters can lead. */
  readonly #folds: boolean;
  /** The characters of content that are marked. */
  readonly #marked: string;
  readonly #pattern: RegExp;
  /** The parts of the tokens between the keys. A template may complete such a part to a token. */
  readonly #pieces: string;
  readonly #longest: number;
  readonly #heads: ReadonlySet<string>;
  readonly #tails: ReadonlySet<string>;

  /** `templates` are the sources of the templates whose output is encoded. Empty for plain texts. */
  constructor(tokenizer: Tokenizer, templates: readonly string[] = []) {
    const { specialTokens = [], addedTokens = [] } = tokenizer;
    const named = [tokenizer.bosToken, tokenizer.eosToken, tokenizer.padToken].filter((token) => token !== undefined);
    const isControl = (token: string): boolean =>
      controlForm.test(token) ||
      named.includes(token) ||
      (/[^\p{L}\p{N}\s]/u.test(token) && templates.some((template) => template.includes(token)));
    const tokens = [...specialTokens, ...addedTokens.filter(isControl)].filter(
      (token) => token.length > 1 && rank(keyOf(token)) < unusable,
    );
    this.tokens = new Set(tokens);
    this.#folds = tokenizer.normalizedTokens?.some((token) => this.tokens.has(token)) === true;
    this.#keys = keysOf(tokens);
    this.#marked = this.#folds ? this.#keys + charactersLike(this.#keys) : this.#keys;
    this.#pattern = alternatives(this.#folds ? tokens.map(folded) : tokens);
    const split = tokens.map((token) => this.#splitAtKeys(token.toLowerCase()));
    const pieces = split.flat();
    this.#pieces = pieces.join("\n");
    this.#longest = Math.max(0, ...pieces.map((piece) => piece.length));
    this.#heads = new Set(split.flatMap((parts) => prefixes(parts[0]!)));
    this.#tails = new Set(split.flatMap((parts) => suffixes(parts.at(-1)!)));
  }

  /** Creates new marks for the texts of one conversation. */
  createMarks(): ContentMarks {
    return new ContentMarks({ controlTokens: this, keys: this.#marked });
  }

  /** Returns the control tokens in a text, in order. If the tokenizer normalizes, they are folded. */
  find(text: string): string[] {
    if (this.tokens.size === 0) return [];
    return (this.#folds ? folded(text) : text).match(this.#pattern) ?? [];
  }

  /**
   * Returns the positions at which a text without keys could become part of a control token together with the
   * template's text next to it, such as `im_end` between `<|` and `|>`. Ignores case, because a template may change it.
   */
  edges(text: string): number[] {
    const trimmed = text.trim();
    if (trimmed === "") return [];
    const start = text.indexOf(trimmed);
    const lower = trimmed.toLowerCase();
    if (this.#folds && folded(trimmed) !== lower) return [start, start + trimmed.length - 1];
    if (lower.length <= this.#longest && this.#pieces.includes(lower)) return [start];
    const edges: number[] = [];
    for (let length = 1; length <= Math.min(this.#longest, lower.length); length++) {
      if (this.#tails.has(lower.slice(0, length))) edges.push(start);
      if (this.#heads.has(lower.slice(-length))) edges.push(start + trimmed.length - 1);
    }
    return edges;
  }

  #splitAtKeys(token: string): string[] {
    return token.split(new RegExp(`[${escapePattern(this.#keys)}]`));
  }
}

/** Folds as much as any usual normalizer: capitals, forms such as `｜`, accents, and characters without a sign. */
function folded(text: string): string {
  return text
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[[\p{M}\p{Cf}\p{Cc}]--\s]/gv, "");
}

/** Returns the other characters that are or contain one of `keys` if they are folded. */
function charactersLike(keys: string): string {
  const wanted = new Set(folded(keys));
  let found = "";
  for (let code = 0; code <= 0x1_ff_ff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const character = String.fromCodePoint(code);
    if (rank(character) < unusable && [...folded(character)].some((part) => wanted.has(part))) found += character;
  }
  return found;
}

/** The rank of characters that cannot be marked: blanks, and characters that JSON escapes. */
const unusable = 4;

/** The rank of characters that occur in words. */
const letter = 3;

/** Ranks a character by its frequency in ordinary text and templates. A key should be rare. */
function rank(character: string): number {
  if (/[\s"\\\p{C}]/u.test(character)) return unusable;
  if (/[\p{L}\p{N}_-]/u.test(character)) return letter;
  if (/[<>/'.,:]/.test(character)) return 2;
  return character === "|" || character > "\x7f" ? 0 : 1;
}

/** Returns the best key of a token, the first one among equals. */
function keyOf(token: string): string {
  return [...token].reduce((best, character) => (rank(character) < rank(best) ? character : best));
}

/**
 * Returns few characters such that each token contains one of them, in both halves of the token if these have symbols.
 * Then no text of a template can complete half of a token to a whole one.
 */
function keysOf(tokens: readonly string[]): string {
  const parts = tokens.flatMap((token) => {
    const middle = token.length >> 1;
    const halves = [token.slice(0, middle), token.slice(middle)].filter((half) => rank(keyOf(half)) < letter);
    return halves.length === 0 ? [token] : halves;
  });
  let keys = "";
  for (const part of parts.toSorted((first, second) => rank(keyOf(first)) - rank(keyOf(second)))) {
    if (![...keys].some((key) => part.includes(key))) keys += keyOf(part);
  }
  return keys;
}

function alternatives(tokens: readonly string[]): RegExp {
  const longestFirst = tokens.toSorted((first, second) => second.length - first.length);
  return new RegExp(longestFirst.map(escapePattern).join("|"), "g");
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}

function prefixes(text: string): string[] {
  return Array.from(text, (_, i) => text.slice(0, i + 1));
}

function suffixes(text: string): string[] {
  return Array.from(text, (_, i) => text.slice(i));
}
