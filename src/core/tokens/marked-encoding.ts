import type { ContentMarks } from "./content-marks.ts";

type Model = (words: readonly string[]) => string[];
type PreTokenizer = (text: string, options: unknown) => string[];

/** The used part of a `@huggingface/tokenizers` engine, for encoding marked texts. */
export interface MarkedEngine {
  readonly splitter_unnormalized: { split(text: string): string[] };
  readonly remove_space?: boolean;
  readonly do_lowercase_and_remove_accent?: boolean;
  readonly normalizer: ((text: string) => string) | null;
  pre_tokenizer: PreTokenizer | null;
  model: Model;
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
}

/** Returns what the engine does to a text before it splits it, or undefined if that is nothing. */
export function normalizerOf(engine: MarkedEngine): ((text: string) => string) | undefined {
  const { normalizer, remove_space, do_lowercase_and_remove_accent: simplify } = engine;
  if (normalizer === null && remove_space !== true && simplify !== true) return undefined;
  return (text) => {
    const spaced = remove_space === true ? text.trim().split(/\s+/).join(" ") : text;
    const simple =
      simplify === true
        ? spaced
            .toLowerCase()
            .normalize("NFD")
            .replaceAll(/\p{Mn}/gu, "")
        : spaced;
    return normalizer === null ? simple : normalizer(simple);
  };
}

/**
 * Encodes a marked text. The ids are those of the text without marks, unless its content writes a control token. Such
 * content is encoded as ordinary text.
 */
export function encodeMarked(engine: MarkedEngine, text: string, marks: ContentMarks): number[] {
  const encode = (given: string): number[] => engine.encode(given, { add_special_tokens: false }).ids;
  const plain = marks.unmark(text);
  if (marks.isHarmless(plain, text)) return encode(plain);
  const { pre_tokenizer: split, model } = engine;
  engine.pre_tokenizer = (section, options) => {
    const unmarked = marks.unmark(section);
    return split === null ? [unmarked] : split(unmarked, options);
  };
  engine.model = new Proxy(model, {
    apply: (_, __, [words]: [readonly string[]]) => withoutControl({ model, words, marks }),
  });
  try {
    return encode(neededMarks(engine, text, marks));
  } finally {
    engine.pre_tokenizer = split;
    engine.model = model;
  }
}

/**
 * Returns the tokens of words. If the vocabulary contains a control token as an ordinary word, encodes its characters one
 * by one. The token of unknown characters is kept.
 */
function withoutControl(options: {
  readonly model: Model;
  readonly words: readonly string[];
  readonly marks: ContentMarks;
}): string[] {
  const { model, words, marks } = options;
  const tokens = model(words);
  const found = new Set(tokens.filter((token) => marks.controlTokens.has(token)));
  const written = new Set([...found].filter((token) => words.some((word) => word.includes(token))));
  return tokens.flatMap((token) =>
    written.has(token) ? [...token].flatMap((character) => model([character])) : token,
  );
}

/**
 * Returns the text with only those marks that prevent the recognition of a control token, so that everything else is
 * split and normalized as without marks. If normalization would still lead to a control token, all marks are needed.
 */
function neededMarks(engine: MarkedEngine, text: string, marks: ContentMarks): string {
  const plain = marks.unmarkMost(text);
  let needed = plain;
  for (let isSettled = false; !isSettled; ) {
    isSettled = true;
    const sections = engine.splitter_unnormalized.split(needed);
    let at = 0;
    needed = sections
      .map((section) => {
        const end = at + section.length;
        const isForged = marks.controlTokens.has(section) && text.slice(at, end) !== plain.slice(at, end);
        const kept = isForged ? text.slice(at, end) : section;
        if (isForged) isSettled = false;
        at = end;
        return kept;
      })
      .join("");
  }
  return engine.normalizer === null || marks.isHarmless(needed, text) ? needed : text;
}
