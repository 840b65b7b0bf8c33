import { visibleText } from "./visible-text.ts";

/** HTML that is already escaped. Only {@link html} and {@link trustedHtml} create it. */
export class Html {
  readonly markup: string;
  constructor(markup: string) {
    this.markup = markup;
  }
}

type HtmlValue = string | number | Html | readonly HtmlValue[] | undefined;

/**
 * Creates HTML from a template. Escapes every value, including hidden characters, unless it is {@link Html}. So text
 * from models, tasks and configs is safe between tags and inside quoted attributes.
 */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let markup = strings[0]!;
  for (const [index, value] of values.entries()) markup += toMarkup(value) + strings[index + 1]!;
  return new Html(markup);
}

/** Marks our own markup, such as a stylesheet, as safe. Never use it for text from outside. */
export function trustedHtml(markup: string): Html {
  return new Html(markup);
}

function toMarkup(value: HtmlValue): string {
  if (value === undefined) return "";
  if (value instanceof Html) return value.markup;
  if (typeof value === "object") return value.map(toMarkup).join("");
  return escapeHtml(visibleText(String(value)));
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character]!);
}

/** Returns JSON for a `<script type="application/json">` element. No text in it can close the element. */
export function jsonForScript(data: unknown): Html {
  return new Html(
    JSON.stringify(data).replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
}
