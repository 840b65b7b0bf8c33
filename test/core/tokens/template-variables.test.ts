import { Template } from "@huggingface/jinja";
import { describe, expect, it } from "vitest";
import { templateVariablesSchema, withTemplateVariables } from "../../../src/core/tokens/template-variables.ts";

const render = (template: string, given: Readonly<Record<string, unknown>> = {}): string =>
  new Template(template).render({ messages: [], ...given });

describe("a template with variables", () => {
  it.each([
    [false, "False"],
    [12.5, "12.5"],
    ['a "quoted" {{ text }} and \\ 日', 'a "quoted" {{ text }} and \\ 日'],
    [null, "True"],
    [["a", 1, null], '["a", 1, null]'],
    [{ "a-b": { c: true } }, '{"a-b": {"c": true}}'],
  ])("gets %j", (value, text) => {
    const shown = value === null ? "{{ it is none }}" : typeof value === "object" ? "{{ it | tojson }}" : "{{ it }}";
    const rendered = render(withTemplateVariables(shown, { it: value }));
    expect(rendered.toLowerCase()).toBe(text.toLowerCase());
  });

  it("keeps its text, and variables that are passed override the defaults", () => {
    const template = withTemplateVariables("x{% if enable_thinking %}<think>{% endif %} ", { enable_thinking: false });
    expect(render(template)).toBe("x ");
    expect(render(template, { enable_thinking: true })).toBe("x<think> ");
  });
});

it.each([{}, { "a-b": 1 }, { "1a": 1 }, { messages: [] }, { "x %}{{ 1 }}": 1 }])("refuses %j", (variables) => {
  expect(templateVariablesSchema.safeParse(variables).success).toBe(false);
});
