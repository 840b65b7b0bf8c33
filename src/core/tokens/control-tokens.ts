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
  /** Each token contains at least one of these characters, also in its normalized form. */
  readonly #keys: string;
  /** The characters of content that are marked: the keys, and those that the tokenizer normalizes to them. */
  readonly #marked: string;
  readonly #normalize: ((text: string) => string) | undefined;
  /** The tokens, and with a normalizer their normalized forms. */
  readonly #pattern: RegExp;
  /** The parts of the tokens between the keys. A template may complete such a part to a token. */
  readonly #pieces: string;
  readonly #longest: number;
  readonly #heads: ReadonlySet<string>;
  readonly #tails: ReadonlySet<string>;

  /** `templates` are the sources of the templates whose output is encoded. Empty for plain texts. */
  constructor(tokenizer: Tokenizer, templates: readonly string[] = []) {
    const { specialTokens = [], addedTokens = [], normalize } = tokenizer;
    const named = [tokenizer.bosToken, tokenizer.eosToken, tokenizer.padToken].filter((token) => token !== undefined);
    const isControl = (token: string): boolean =>
      controlForm.test(token) ||
      named.includes(token) ||
      (/[^\p{L}\p{N}\s]/u.test(token) && templates.some((template) => template.includes(token)));
    const tokens = [...specialTokens, ...addedTokens.filter(isControl)].filter(
      (token) => token.length > 1 && rank(keyOf(token)) < unusable,
    );
    this.tokens = new Set(tokens);
    this.#normalize = normalize;
    const keys = keysOf(tokens);
    const forms = normalize === undefined ? [] : tokens.map(normalize).filter((form) => form.trim().length > 1);
    this.#keys = normalize === undefined ? keys : usableOf(keys + [...keys].map(normalize).join(""));
    this.#marked = normalize === undefined ? keys : this.#keys + charactersLike(this.#keys, normalize);
    this.#pattern = alternatives([...new Set([...tokens, ...forms])]);
    const split = [...tokens, ...forms].map((token) => this.#splitAtKeys(token.toLowerCase()));
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

  /**
   * Returns the control tokens in a text, in order. If the tokenizer normalizes, those of the normalized text follow, and
   * then those of each normalized part between two tokens.
   */
  find(text: string): string[] {
    if (this.tokens.size === 0) return [];
    const sections = text.split(this.#pattern);
    const whole = sections.length === 1 ? sections : [text, ...sections];
    const parts = this.#normalize === undefined ? [] : whole.map(this.#normalize);
    return [text, ...parts].flatMap((each) => each.match(this.#pattern) ?? []);
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
    if (this.#changes(trimmed)) return [start, start + trimmed.length - 1];
    if (lower.length <= this.#longest && this.#pieces.includes(lower)) return [start];
    const edges: number[] = [];
    for (let length = 1; length <= Math.min(this.#longest, lower.length); length++) {
      if (this.#tails.has(lower.slice(0, length))) edges.push(start);
      if (this.#heads.has(lower.slice(-length))) edges.push(start + trimmed.length - 1);
    }
    return edges;
  }

  /** True if the tokenizer normalizes a text to other visible characters, or could join it with the character before it. */
  #changes(text: string): boolean {
    if (this.#normalize === undefined) return false;
    return /^\p{M}/u.test(text) || visible(this.#normalize(text)) !== visible(text);
  }

  #splitAtKeys(token: string): string[] {
    return token.split(new RegExp(`[${escapePattern(this.#keys)}]`));
  }
}

/** Returns a text in small letters without blanks, which normalizers insert, remove and replace. */
function visible(text: string): string {
  return text.replaceAll(/[\s\u2581]/g, "").toLowerCase();
}

/** Returns the characters that can be marked, each once. */
function usableOf(characters: string): string {
  return [...new Set(characters)].filter((character) => rank(character) < unusable).join("");
}

/** A noncharacter, which normalizers keep. */
const separator = "\ufffe";

/** Returns the other characters whose normalized form contains one of `keys`. */
function charactersLike(keys: string, normalize: (text: string) => string): string {
  const wanted = new Set(keys);
  const others = characters();
  // One call for all is fast. The first part has what a normalizer puts in front of a text.
  const together = normalize(["", ...others].join(separator))
    .split(separator)
    .slice(1);
  const forms = together.length === others.length ? together : others.map(normalize);
  const alike = others.filter(
    (character, i) => forms[i] !== character && [...forms[i]!].some((part) => wanted.has(part)),
  );
  return usableOf(alike.filter((character) => !wanted.has(character)).join(""));
}

let replaceable: readonly string[] | undefined;

/** Returns the characters that a normalizer may replace by others. Ideographs, Hangul and private characters are left out. */
function characters(): readonly string[] {
  replaceable ??= Array.from({ length: 0x1_ff_ff }, (_, code) => code)
    .filter((code) => code !== 0xfffe && !unlike.some(([first, last]) => code >= first && code <= last))
    .map((code) => String.fromCodePoint(code));
  return replaceable;
}

const unlike = [
  [0x3400, 0x9fff],
  [0xac00, 0xf8ff],
  [0x1_70_00, 0x1_af_ff],
] as const;

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
