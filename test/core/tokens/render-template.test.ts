import { describe, expect, it } from "vitest";
import { textMessage } from "../../../src/contract/message.ts";
import { compileChatTemplate } from "../../../src/core/tokens/chat-template.ts";
import * as chatTemplates from "./chat-templates.ts";

const chat = "{% for m in messages %}{{ m.content }}{% endfor %}";

describe("a template that does not end", () => {
  const cases: Readonly<Record<string, string>> = {
    "a loop of 1e11 steps": "{% for a in range(100000) %}{% for b in range(1000000) %}{% endfor %}{% endfor %}",
    "a range of 1e11 items": "{% for a in range(100000000000) %}{% endfor %}",
    "loops over one list": "{% set xs = range(100000) %}{% for a in xs %}{% for b in xs %}{% endfor %}{% endfor %}",
    "loops with a condition":
      "{% set xs = range(100000) %}{% for a in xs %}{% for b in xs if b < 0 %}{% endfor %}{% endfor %}",
    "filters over one list": "{% set xs = range(100000) %}{% for a in xs %}{% set y = xs | sort %}{% endfor %}",
    "searches in one list": "{% set xs = range(100000) %}{% for a in xs %}{% set y = -1 in xs %}{% endfor %}",
    "a list that doubles":
      "{% set ns = namespace(xs=[1]) %}{% for a in range(60) %}{% set ns.xs = ns.xs + ns.xs %}{% endfor %}",
    "a text that is read again and again":
      "{% set ns = namespace(t='ab') %}{% for a in range(22) %}{% set ns.t = ns.t + ns.t %}{% endfor %}{% for a in range(100000) %}{% set u = ns.t | upper %}{% endfor %}",
  };

  it.each(Object.keys(cases))("%s fails with an error that contains the limit", (name) => {
    expect(() => compileChatTemplate(cases[name]! + chat)).toThrow(
      expect.objectContaining({ code: "model.template", message: expect.stringContaining("more than 2000000 steps") }),
    );
  });

  it("a text that doubles fails with an error", () => {
    const doubling = "{% set ns = namespace(t='ab') %}{% for a in range(60) %}{% set ns.t = ns.t + ns.t %}{% endfor %}";
    expect(() => compileChatTemplate(doubling + chat)).toThrow(/text of more than 20000000 characters|2000000 steps/);
  });

  it("is also refused if only some conversations make it loop", () => {
    const template = compileChatTemplate(
      `{% if messages | length > 2 %}{% for a in range(100000000000) %}{% endfor %}{% endif %}${chat}`,
    );
    const messages = Array.from({ length: 3 }, () => textMessage("user", "?"));
    expect(() => template.render({ messages, tools: [], generationPrompt: true })).toThrow(/2000000 steps/);
  });
});

describe("a template that ends", () => {
  it("renders a conversation of 1,000 long messages", () => {
    for (const source of [chatTemplates.chatMl, chatTemplates.headers, chatTemplates.dropsThinking]) {
      const template = compileChatTemplate(source);
      const messages = Array.from({ length: 1_000 }, (_, i) =>
        textMessage(i % 2 === 0 ? "user" : "assistant", `${i} ${"word ".repeat(200)}`),
      );
      const text = template.render({ messages, tools: [], generationPrompt: true });
      expect(text).toContain("998 word");
    }
  });

  it("has the globals of Jinja", () => {
    const text = (source: string): string =>
      compileChatTemplate(source + chat).render({ messages: [], tools: [], generationPrompt: false });
    expect(text("{{ range(3) | join(',') }} {{ range(1, 7, 2) | join(',') }} {{ range(2, 0, -1) | join(',') }}")).toBe(
      "0,1,2 1,3,5 2,1",
    );
    expect(text("{{ true and True }} {{ false or False }} {{ none is none and None is none }}")).toBe(
      "True False True",
    );
    expect(text("{{ strftime_now('%Y') }}")).toMatch(/^\d{4}$/);
    expect(() => text("{{ raise_exception('not so') }}")).toThrow(/not so/);
    expect(() => text("{% for a in range(0, 1, 0) %}{% endfor %}")).toThrow(/must not be zero/);
  });
});
