import type { ContentMarks } from "./content-marks.ts";

type Model = (words: readonly string[]) => string[];
type PreTokenizer = (text: string, options: unknown) => string[];

/** The used part of a `@huggingface/tokenizers` engine, for encoding marked texts. */
export interface MarkedEngine {
  readonly splitter_unnormalized: { split(text: string): string[] };
  readonly added_tokens_map: ReadonlyMap<string, { readonly normalized?: boolean }>;
  readonly normalizer: unknown;
  pre_tokenizer: PreTokenizer | null;
  model: Model;
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
}

/** Returns the added tokens that the engine recognizes in normalized text. */
export function normalizedTokens({ normalizer, added_tokens_map: added }: MarkedEngine): string[] {
  return normalizer === null ? [] : [...added].flatMap(([token, { normalized }]) => (normalized ? token : []));
}

/** Encodes a marked text. The ids are those of the text without marks, except that content writes no control token. */
export function encodeMarked(engine: MarkedEngine, text: string, marks: ContentMarks): number[] {
  const { pre_tokenizer: split, model } = engine;
  engine.pre_tokenizer = (section, options) => {
    const plain = marks.unmark(section);
    return split === null ? [plain] : split(plain, options);
  };
  engine.model = new Proxy(model, {
    apply: (_, __, [words]: [readonly string[]]) =>
      model(words).flatMap((token) => withoutControl(model, token, marks)),
  });
  try {
    return engine.encode(neededMarks(engine, text, marks), { add_special_tokens: false }).ids;
  } finally {
    engine.pre_tokenizer = split;
    engine.model = model;
  }
}

/** If the vocabulary contains a control token as an ordinary word, encodes its characters one by one. */
function withoutControl(model: Model, token: string, marks: ContentMarks): string[] {
  return marks.controlTokens.has(token) ? [...token].flatMap((character) => model([character])) : [token];
}

/**
 * Returns the text with only those marks that prevent the recognition of a control token, so that everything else is
 * split and normalized as without marks. If control tokens are matched in normalized text, all marks are needed.
 */
function neededMarks(engine: MarkedEngine, text: string, marks: ContentMarks): string {
  if (normalizedTokens(engine).some((token) => marks.controlTokens.has(token))) return text;
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
  return needed;
}
