import { beforeAll, expect, test } from "vitest";
import { renderTemplate } from "../../src/core/tokens/render-template.ts";
import { parseTemplate, templateFunctions } from "../../src/core/tokens/template-corrections.ts";
import { runPython } from "./python.ts";
import { providePythonEnvironment } from "./python-environment.ts";

type Result = { readonly text: string } | { readonly error: string };
type Variables = Readonly<Record<string, unknown>>;

/** Templates whose rendering needs a correction of `@huggingface/jinja`, or once did. */
const expressions = [
  "{{ true }} {{ none }} {{ [1, 'a', none, true, 2.5] }} {{ {'a': [1], 'b': \"it's\"} }} {{ (1, 'x') }}",
  "{{ none | string }}|{{ true | string }}|{{ [1, 'a'] | string }}|{{ 1.0 }}|{{ 1 / 1000000 }}|{{ 2 | string | length }}",
  "{{ 'a' ~ none ~ true ~ [1, 'b'] ~ 5 ~ 2.0 }}|{{ missing }}|{{ missing | length }}|{{ 'a' ~ missing }}",
  "{{ -7 % 3 }} {{ 7 % -3 }} {{ -7 // 3 }} {{ 2 ** 3 }} {{ 7 / 2 }} {{ 'ab' * 3 }}",
  "{{ 'hELLO wORLD' | capitalize }} {{ 'hELLO'.capitalize() }} {{ 'ÄB'.lower() }} {{ 5 | upper }}",
  "{{ 1 == '1' }} {{ 1 == true }} {{ [1] == [1] }} {{ {'a': 1} == {'a': 1} }} {{ none == missing }} {{ 1 == 1.0 }} {{ 'a' != none }}",
  "{{ [1] in [[1], 2] }} {{ '1' in [1] }} {{ none in [none] }} {{ missing in [1] }} {{ 'a' not in ['a'] }} {{ 'x' in {'x': 1} }}",
  "{% for c in 'aé😀' %}[{{ c }}]{% endfor %}{% for x in missing %}x{% else %}none{% endfor %}{% for k in {'a': 1} %}{{ k }}{% endfor %}",
  "{% for c in 'abc' if c != 'b' %}{{ loop.index }}{{ c }}{% endfor %}",
  "{{ {'a': 1} is iterable }} {{ 'a' is iterable }} {{ 5 is iterable }} {{ missing is iterable }} {{ [1] is not iterable }}",
  "{{ 'abc' | first }}{{ 'abc' | last }}{{ [] | first }}{{ 'abc' | list }}{{ {'a': 1, 'b': 2} | list }}{{ 'abc' | length }}",
  "{{ [1, 'a', none] | join(', ') }}|{{ 'abc' | join('-') }}|{{ [] | join }}",
  "{{ missing | default('x') }} {{ '' | default('x', true) }} {{ none | default('x') }} {{ [] | d('y', boolean=true) }}",
  "{{ 'abc' | selectattr('type', 'equalto', 'image') | list | length }}",
  "{{ 'aXbXc'.find('X') }} {{ 'aXbXc'.rfind('X') }} {{ 'aXbXc'.count('X') }} {{ 'abc'.removeprefix('a') }} {{ 'abc'.removesuffix('c') }}",
  "{{ ', '.join(['a', 'b']) }} {{ 'a-b-c'.rsplit('-', 1) }} {{ 'a=b'.partition('=')[2] }} {{ '12'.isdigit() }} {{ 'ab'.isalpha() }}",
  "{{ 'a\\nb\\n'.splitlines() }} {{ ''.splitlines() }} {{ '\\n'.splitlines() }} {{ ' '.isspace() }}",
  "{{ 1.0 | tojson }} {{ {'b': 1, 'a': [true, none, 'é<']} | tojson }} {{ {'b': 1, 'a': 2} | tojson(sort_keys=true) }}",
  "{{ {'a': [1, {}], 'b': []} | tojson(indent=2) }}{{ 'é' | tojson(ensure_ascii=true) }}{{ [1, 2] | tojson(separators=(',', ':')) }}",
  "a\r\nb{% if true %}\r\nc\r\n{% endif %}\r\nd\r\n",
  "{{ 'x' if false }}|{{ tools }}|{{ tools is defined }}|{{ documents is none }}|{% if tools %}a{% endif %}",
  "{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(none) }}{{ m([1, 'a']) }}{% set y %}{{ true }}{% endset %}{{ y }}",
  "{{ messages[0] }}",
  "{{ (1,) }}{{ () }}{{ (1, 2,) }}{{ ((),) }}{{ [(1,)] }}{{ (1) }}{{ ('a',)[0] }}{{ 'b' in ('b',) }}{{ ('a', ) | length }}",
  "{% set x = 1, %}{{ x }}{% set a, b = (1, 2,) %}{{ a + b }}{% for (a, b) in [(1, 2,)] %}{{ a }}{% endfor %}{{ 'abc'.count('a',) }}",
  "{{ 1e-7 }} {{ 1E5 }} {{ 2.5e3 }} {{ 1e+2 }} {{ -1e-7 }} {{ 1e16 }} {{ 1e2 | int }} {{ [1e3, 2e-3] }} {{ 3 if 1e0 else 4 }}",
  "{{ 9 is divisibleby(3) }} {{ 9 is divisibleby 4 }} {{ 9 is not divisibleby(4) }} {{ 9 is divisibleby(3) and true }} {{ not 9 is divisibleby(3) }}",
  "{{ 1 is eq 1 }} {{ 1 is equalto('1') }} {{ 1 is ne(2) }} {{ 2 is gt 1 }} {{ 2 is ge(2) }} {{ 1 is lt(1) }} {{ 1 is le 1 }} {{ 2 is greaterthan(1) }} {{ 2 is lessthan 1 }}",
  "{{ 'a' is in ['a'] }} {{ 'a' is not in 'abc' }} {{ 1 is in [(1,)][0] }} {{ 'role' is in(messages[0]) }} {{ messages[0].role is in(messages[0].values() | list) }}",
  "{{ none is sameas none }} {{ 1 is sameas(true) }} {{ false is sameas false }} {{ 0 is sameas(false) }} {{ 'a' is eq('a') and 'b' is not eq('a') or false }}",
  "{% if messages | length is divisibleby(2) %}even{% else %}odd{% endif %} {{ 4 is divisibleby(2) ~ '' }} {{ [1, 2] | length is eq(2) }} {{ 'is in (a,)' }}",
  "{{ 5 is divisibleby(0) }}",
  "{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}{% for p in [(1, 2)] %}{{ p }}{% endfor %}",
  "{{ {'is': 1}.is }} {{ {'in': (1,)}['in'] }} {{ 1 is defined }} {{ 1 is string }} {{ (1 is number) }} {{ 3 is odd and (3) }}",
  "{{ \"a'b\" | list }}{{ ['a\\\\b\\n\\t', '\\x00\\u200b'] }}",
];

const tool = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Weather of a city, <b>now</b>.",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};
const user = (content: string) => ({ role: "user", content });
const assistant = (content: string, more: object = {}) => ({ role: "assistant", content, ...more });
const call = {
  type: "function",
  id: "call00000",
  function: { name: "get_weather", arguments: { city: "Paris", days: 3, exact: true, more: [1, null] } },
};
const chats: readonly Variables[] = [
  { messages: [user("Hi\r\nthere 😀")] },
  { messages: [{ role: "system", content: "Be brief." }, user("  2 + 2? ")] },
  { messages: [user("2 + 2?"), assistant("4"), user("3 + 3?")] },
  { messages: [user("2 + 2?"), assistant("4")] },
  { messages: [user("2 + 2?"), assistant("4", { reasoning_content: "It is four." }), user("And 3?")] },
  { messages: [user("Weather?")], tools: [tool] },
  {
    messages: [{ role: "system", content: "S" }, user("Weather?"), assistant("", { tool_calls: [call] })],
    tools: [tool],
  },
  {
    messages: [
      user("Weather?"),
      assistant("Let me see.", { tool_calls: [call] }),
      { role: "tool", content: "21 °C", name: "get_weather", tool_call_id: "call00000" },
    ],
    tools: [tool],
  },
  { messages: [user("<think>a</think>"), assistant("<think>\nb\n</think>\n\n4"), user("c")], enable_thinking: false },
];
const conversations = chats.flatMap((chat) =>
  [true, false].map((add_generation_prompt) => ({
    ...{ tools: null, documents: null, bos_token: "<s>", eos_token: "</s>", pad_token: "<pad>" },
    ...chat,
    add_generation_prompt,
  })),
);

interface Reference {
  readonly expressions: readonly Result[];
  readonly templates: Readonly<Record<string, { readonly source: string; readonly results: readonly Result[] }>>;
}
let reference: Reference;

beforeAll(async () => {
  const environment = await providePythonEnvironment({
    ...{ name: "templates", requirements: "templates-requirements.txt", download: "2 MB" },
  });
  reference = await runPython<Reference>({
    environment,
    script: "render_templates",
    request: { expressions, conversations },
  });
});

function render(source: string, variables: Variables): Result {
  try {
    return { text: renderTemplate(parseTemplate(source), { ...templateFunctions, ...variables }) };
  } catch (error) {
    return { error: String(error) };
  }
}

function difference(name: string, ours: Result, theirs: Result): object[] {
  if ("error" in theirs ? "error" in ours : "text" in ours && ours.text === theirs.text) return [];
  return [{ name, ours, theirs }];
}

test("expressions have the texts of Jinja", () => {
  const differences = expressions.flatMap((source, i) =>
    difference(source, render(source, conversations[0]!), reference.expressions[i]!),
  );
  expect(differences).toEqual([]);
});

test("the templates of trl have the texts of Jinja", () => {
  expect(Object.keys(reference.templates)).toHaveLength(72);
  const differences = Object.entries(reference.templates).flatMap(([name, { source, results }]) =>
    conversations.flatMap((variables, i) => difference(`${name} ${i}`, render(source, variables), results[i]!)),
  );
  expect({ count: differences.length, first: differences.slice(0, 3) }).toEqual({ count: 0, first: [] });
});
