import { visibleText } from "./visible-text.ts";

/** A piece of HTML that needs no more escaping. Only {@link html} and {@link trustedHtml} make one. */
export class Html {
  readonly markup: string;
  constructor(markup: string) {
    this.markup = markup;
  }
}

type HtmlValue = string | number | Html | readonly HtmlValue[] | undefined;

/**
 * HTML from a template. Every value is escaped, hidden characters included, unless it is {@link Html} itself; so text
 * from models, tasks and configs can go anywhere between tags and inside quoted attributes.
 */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let markup = strings[0]!;
  for (const [index, value] of values.entries()) markup += toMarkup(value) + strings[index + 1]!;
  return new Html(markup);
}

/** Markup of our own, such as a stylesheet. Never of text that came from outside. */
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

/** Data inside a `<script type="application/json">`: no text in it can close the element. */
export function jsonForScript(data: unknown): Html {
  return new Html(
    JSON.stringify(data).replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
}
