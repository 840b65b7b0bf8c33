import { describe, expect, it } from "vitest";
import { compileChatTemplate } from "../../../src/core/tokens/chat-template.ts";
import { renderTemplate } from "../../../src/core/tokens/render-template.ts";
import { parseTemplate, templateFunctions } from "../../../src/core/tokens/template-corrections.ts";

/**
 * Templates with the texts of Jinja 3.1 in Python, in the environment that transformers makes. The interop suite
 * (`chat-template-corpus`) renders more of them by Jinja itself.
 */
const jinjaTexts: readonly (readonly [source: string, text: string])[] = [
  [
    "{{ true }} {{ none }} {{ [1, 'a', none, true, 2.5] }} {{ {'a': [1], 'b': \"it's\"} }} {{ (1, 'x') }}",
    "True None [1, 'a', None, True, 2.5] {'a': [1], 'b': \"it's\"} (1, 'x')",
  ],
  [
    "{{ none | string }}|{{ true | string }}|{{ [1, 'a'] | string }}|{{ 1.0 }}|{{ 1 / 1000000 }}|{{ 2 | string | length }}",
    "None|True|[1, 'a']|1.0|1e-06|1",
  ],
  [
    "{{ 'a' ~ none ~ true ~ [1, 'b'] ~ 5 ~ 2.0 }}|{{ missing }}|{{ missing | length }}|{{ 'a' ~ missing }}",
    "aNoneTrue[1, 'b']52.0||0|a",
  ],
  ["{{ -7 % 3 }} {{ 7 % -3 }} {{ -7 // 3 }} {{ 2 ** 3 }} {{ 7 / 2 }} {{ 'ab' * 3 }}", "2 -2 -3 8 3.5 ababab"],
  [
    "{{ 'hELLO wORLD' | capitalize }} {{ 'hELLO'.capitalize() }} {{ '\u00c4B'.lower() }} {{ 5 | upper }}",
    "Hello world Hello \u00e4b 5",
  ],
  [
    "{{ 1 == '1' }} {{ 1 == true }} {{ [1] == [1] }} {{ {'a': 1} == {'a': 1} }} {{ none == missing }} {{ 1 == 1.0 }} {{ 'a' != none }}",
    "False True True True False True True",
  ],
  [
    "{{ [1] in [[1], 2] }} {{ '1' in [1] }} {{ none in [none] }} {{ missing in [1] }} {{ 'a' not in ['a'] }} {{ 'x' in {'x': 1} }}",
    "True False True False False True",
  ],
  [
    "{% for c in 'a\u00e9\ud83d\ude00' %}[{{ c }}]{% endfor %}{% for x in missing %}x{% else %}none{% endfor %}{% for k in {'a': 1} %}{{ k }}{% endfor %}",
    "[a][\u00e9][\ud83d\ude00]nonea",
  ],
  ["{% for c in 'abc' if c != 'b' %}{{ loop.index }}{{ c }}{% endfor %}", "1a2c"],
  [
    "{{ {'a': 1} is iterable }} {{ 'a' is iterable }} {{ 5 is iterable }} {{ missing is iterable }} {{ [1] is not iterable }}",
    "True True False True False",
  ],
  [
    "{{ 'abc' | first }}{{ 'abc' | last }}{{ [] | first }}{{ 'abc' | list }}{{ {'a': 1, 'b': 2} | list }}{{ 'abc' | length }}",
    "ac['a', 'b', 'c']['a', 'b']3",
  ],
  ["{{ [1, 'a', none] | join(', ') }}|{{ 'abc' | join('-') }}|{{ [] | join }}", "1, a, None|a-b-c|"],
  [
    "{{ missing | default('x') }} {{ '' | default('x', true) }} {{ none | default('x') }} {{ [] | d('y', boolean=true) }}",
    "x x None y",
  ],
  ["{{ 'abc' | selectattr('type', 'equalto', 'image') | list | length }}", "0"],
  [
    "{{ 'aXbXc'.find('X') }} {{ 'aXbXc'.rfind('X') }} {{ 'aXbXc'.count('X') }} {{ 'abc'.removeprefix('a') }} {{ 'abc'.removesuffix('c') }}",
    "1 3 2 bc ab",
  ],
  [
    "{{ ', '.join(['a', 'b']) }} {{ 'a-b-c'.rsplit('-', 1) }} {{ 'a=b'.partition('=')[2] }} {{ '12'.isdigit() }} {{ 'ab'.isalpha() }}",
    "a, b ['a-b', 'c'] b True True",
  ],
  [
    "{{ 'a\\nb\\n'.splitlines() }} {{ ''.splitlines() }} {{ '\\n'.splitlines() }} {{ ' '.isspace() }}",
    "['a', 'b'] [] [''] True",
  ],
  [
    "{{ 1.0 | tojson }} {{ {'b': 1, 'a': [true, none, '\u00e9<']} | tojson }} {{ {'b': 1, 'a': 2} | tojson(sort_keys=true) }}",
    '1.0 {"b": 1, "a": [true, null, "\u00e9<"]} {"a": 2, "b": 1}',
  ],
  [
    "{{ {'a': [1, {}], 'b': []} | tojson(indent=2) }}{{ '\u00e9' | tojson(ensure_ascii=true) }}{{ [1, 2] | tojson(separators=(',', ':')) }}",
    '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": []\n}"\\u00e9"[1,2]',
  ],
  ["a\r\nb{% if true %}\r\nc\r\n{% endif %}\r\nd\r\n", "a\nbc\nd"],
  [
    "{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(none) }}{{ m([1, 'a']) }}{% set y %}{{ true }}{% endset %}{{ y }}",
    "<None><[1, 'a']>True",
  ],
  [
    "{{ (1,) }}{{ () }}{{ (1, 2,) }}{{ ((),) }}{{ [(1,)] }}{{ (1) }}{{ ('a',)[0] }}{{ 'b' in ('b',) }}{{ ('a', ) | length }}",
    "(1,)()(1, 2)((),)[(1,)]1aTrue1",
  ],
  [
    "{% set x = 1, %}{{ x }}{% set a, b = (1, 2,) %}{{ a + b }}{% for (a, b) in [(1, 2,)] %}{{ a }}{% endfor %}{{ 'abc'.count('a',) }}",
    "(1,)311",
  ],
  [
    "{{ 1e-7 }} {{ 1E5 }} {{ 2.5e3 }} {{ 1e+2 }} {{ -1e-7 }} {{ 1e16 }} {{ 1e2 | int }} {{ [1e3, 2e-3] }} {{ 3 if 1e0 else 4 }}",
    "1e-07 100000.0 2500.0 100.0 -1e-07 1e+16 100 [1000.0, 0.002] 3",
  ],
  [
    "{{ 9 is divisibleby(3) }} {{ 9 is divisibleby 4 }} {{ 9 is not divisibleby(4) }} {{ 9 is divisibleby(3) and true }} {{ not 9 is divisibleby(3) }}",
    "True False True True False",
  ],
  [
    "{{ 1 is eq 1 }} {{ 1 is equalto('1') }} {{ 1 is ne(2) }} {{ 2 is gt 1 }} {{ 2 is ge(2) }} {{ 1 is lt(1) }} {{ 1 is le 1 }} {{ 2 is greaterthan(1) }} {{ 2 is lessthan 1 }}",
    "True False True True True False True True False",
  ],
  [
    "{{ none is sameas none }} {{ 1 is sameas(true) }} {{ false is sameas false }} {{ 0 is sameas(false) }} {{ 'a' is eq('a') and 'b' is not eq('a') or false }}",
    "True False True False True",
  ],
  [
    "{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}{% for p in [(1, 2)] %}{{ p }}{% endfor %}",
    "a1(1, 2)",
  ],
  [
    "{{ {'is': 1}.is }} {{ {'in': (1,)}['in'] }} {{ 1 is defined }} {{ 1 is string }} {{ (1 is number) }} {{ 3 is odd and (3) }}",
    "1 (1,) True False True 3",
  ],
  ["{{ \"a'b\" | list }}{{ ['a\\\\b\\n\\t', '\\x00\\u200b'] }}", "['a', \"'\", 'b']['a\\\\b\\n\\t', '\\x00\\u200b']"],
  ["{{ [1,2,] }} {{ {'a': 1,} }}", "[1, 2] {'a': 1}"],
  ["{{ (1,)[0] + (2,)[0] }}", "3"],
  ["{{ 'a' if 3 is divisibleby(3) else 'b' }}", "a"],
  ["{{ 1 is eq(1,) }}", "True"],
  ["{{ ('a' 'b',) }}", "('ab',)"],
  ["{{ 2 is divisibleby(1 + 1) }} {{ 2 is divisibleby((2,)[0]) }} {{ 4 is divisibleby(2) is true }}", "True True True"],
  ["{{ 0.5e1 }} {{ 1e-05 }} {{ 12e3 }}", "5.0 1e-05 12000.0"],
  ["{{ missing is eq(none) }} {{ missing is in [1] }}", "False False"],
  ["{{ 5 is ge 5 }} {{ 5 is gt(4) and 5 is lt 6 }}", "True True"],
];

/** Templates that Jinja refuses. */
const jinjaErrors = [
  "{{ 'a' + 1 }}",
  "{{ missing.name }}",
  "{{ 5 is divisibleby(0) }}",
  "{{ 1 is unknown(2) }}",
  "{{ 1 is in }}",
  "{{ 'a' is in ('a', 'b') }}",
  "{{ '1' is gt 1 }}",
  "{{ 1e }}",
  "{{ (,) }}",
  "{{ (1,,) }}",
];

function rendered(source: string): string {
  return renderTemplate(parseTemplate(source), templateFunctions);
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
