import { describe, expect, it } from "vitest";
import { compileChatTemplate } from "../../../src/core/tokens/chat-template.ts";
import { renderTemplate } from "../../../src/core/tokens/render-template.ts";
import { parseTemplate } from "../../../src/core/tokens/template-corrections.ts";
import { jinjaErrors, jinjaTexts } from "./jinja-texts.ts";

function rendered(source: string): string {
  return renderTemplate(parseTemplate(source), {});
}

describe("a template", () => {
  it.each(jinjaTexts)("%j has the text of Jinja", (source, text) => {
    expect(rendered(source)).toBe(text);
  });

  it.each(jinjaErrors)("%j is an error as in Jinja", (source) => {
    expect(() => rendered(source)).toThrow();
  });
});

function render(expression: string, text: string): string {
  const template = compileChatTemplate(`{% for message in messages %}[{{ ${expression} }}]{% endfor %}`);
  const messages = [{ role: "user" as const, content: [{ type: "text" as const, text }] }];
  return template.render({ messages, tools: [], generationPrompt: false });
}

describe("stripping in a chat template", () => {
  it.each([
    ["message.content.strip('\\n')", "\n a \n\n", "[ a ]"],
    ["message.content.lstrip('\\n')", "\n a \n", "[ a \n]"],
    ["message.content.rstrip('xy')", "xaxyx", "[xa]"],
    ["message['content'].strip()", "\x1c\x85 a\u3000", "[a]"],
    ["message.content.strip()", "\ufeffa\u200b", "[\ufeffa\u200b]"],
    ["message.content | trim", " \x1fa\t", "[a]"],
    ["(message.content | trim).lstrip('a').rstrip('c')", " abc ", "[b]"],
    ["{'key': [message.content.strip()]}['key'][0]", " a ", "[a]"],
    ["message.content.strip('\\n') if message.content else ''", "\n", "[]"],
    ["message.nothing | trim", "a", "[]"],
  ])("%s of %j is %j", (expression, text, expected) => {
    expect(render(expression, text)).toBe(expected);
  });

  it("strips in macros, loops and assignments", () => {
    const source =
      "{% macro show(text) %}({{ text.strip('-') }}){% endmacro %}" +
      "{% for message in messages %}{% set kept = message.content.lstrip('-') %}{{ show(kept) }}{% endfor %}";
    const template = compileChatTemplate(source);
    const messages = [{ role: "user" as const, content: [{ type: "text" as const, text: "--a b--" }] }];
    expect(template.render({ messages, tools: [], generationPrompt: false })).toBe("(a b)");
  });
});
