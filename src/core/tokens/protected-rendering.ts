import type { ContentMarks } from "./content-marks.ts";
import type { ControlTokens } from "./control-tokens.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** What is done to each text of a conversation before a template sees it. */
export type Mark = (text: string) => string;

/** A rendered conversation in which it is known what the template wrote itself. */
export interface ProtectedRendering {
  /** The text, perhaps with marks. */
  readonly text: string;
  /** Marks the texts of a part of the conversation the same way. */
  readonly mark: Mark;
  /** The text without marks. */
  unmark(text: string): string;
  /** The ids of a text with these marks. */
  encode(text: string): number[];
}

const asIs: Mark = (text) => text;

/**
 * Renders a conversation so that its content writes no control token. If a template looks at the marked characters, the
 * text differs from the one without marks. Then fewer marks do if they change nothing and no control token comes with
 * them. Otherwise all marks stay: the template sees content without control tokens.
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
  const plain = render(asIs);
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
  return { text, mark: asIs, unmark: asIs, encode: (part) => tokenizer.encode(part) };
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
