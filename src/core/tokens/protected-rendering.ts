import type { ContentMarks } from "./content-marks.ts";
import type { ControlTokens } from "./control-tokens.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** Transforms each text of a conversation before the template renders it. */
export type Mark = (text: string) => string;

/** A rendered conversation that distinguishes the template's own text from content. */
export interface ProtectedRendering {
  /** The text, with marks if necessary. */
  readonly text: string;
  /** Marks the texts of a part of the conversation in the same way. */
  readonly mark: Mark;
  /** Removes the marks of a text. */
  unmark(text: string): string;
  /** Encodes a text with these marks. */
  encode(text: string): number[];
}

const unchanged: Mark = (text) => text;

/**
 * Renders a conversation such that its content writes no control token. If a template inspects marked characters, its
 * output may differ from the output without marks. Then fewer marks, or none, are used if they give the output without
 * marks and no additional control token. Otherwise all marks stay, so the template sees content without control tokens.
 */
export function renderProtected(options: {
  readonly controlTokens: ControlTokens;
  readonly tokenizer: Tokenizer;
  readonly render: (mark: Mark) => string;
}): ProtectedRendering {
  const { controlTokens, tokenizer, render } = options;
  const marks = controlTokens.createMarks();
  const text = render(marks.mark);
  if (!marks.isUsed) return unmarked(text, tokenizer);
  const whole = marked({ text, mark: marks.mark, marks, tokenizer });
  const plain = render(unchanged);
  if (marks.unmark(text) === plain) return whole;
  const expected = controlTokens.find(text).join("\n");
  const fewer = render(marks.markKeys);
  if (marks.unmark(fewer) === plain && controlTokens.find(fewer).join("\n") === expected) {
    return marked({ text: fewer, mark: marks.markKeys, marks, tokenizer });
  }
  if (!marks.sawToken && controlTokens.find(plain).join("\n") === expected) return unmarked(plain, tokenizer);
  return whole;
}

function unmarked(text: string, tokenizer: Tokenizer): ProtectedRendering {
  return { text, mark: unchanged, unmark: unchanged, encode: (part) => tokenizer.encode(part) };
}

function marked(options: {
  readonly text: string;
  readonly mark: Mark;
  readonly marks: ContentMarks;
  readonly tokenizer: Tokenizer;
}): ProtectedRendering {
  const { text, mark, marks, tokenizer } = options;
  return {
    text,
    mark,
    unmark: (part) => marks.unmark(part),
    encode: (part) => tokenizer.encodeMarked(part, marks),
  };
}
