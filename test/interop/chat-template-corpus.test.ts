import { beforeAll, expect, test } from "vitest";
import { renderTemplate } from "../../src/core/tokens/render-template.ts";
import { parseTemplate } from "../../src/core/tokens/template-corrections.ts";
import { jinjaErrors, jinjaTexts } from "../core/tokens/jinja-texts.ts";
import { runPython } from "./python.ts";
import { providePythonEnvironment } from "./python-environment.ts";

type Result = { readonly text: string } | { readonly error: string };
type Variables = Readonly<Record<string, unknown>>;

/** Templates whose rendering needs a correction of `@huggingface/jinja`, or once did. */
const expressions = [
  ...jinjaTexts.map(([source]) => source),
  ...jinjaErrors,
  "{{ 'x' if false }}|{{ tools }}|{{ tools is defined }}|{{ documents is none }}|{% if tools %}a{% endif %}",
  "{{ messages[0] }}",
  "{{ 'a' is in ['a'] }} {{ 'a' is not in 'abc' }} {{ 1 is in [(1,)][0] }} {{ 'role' is in(messages[0]) }} {{ messages[0].role is in(messages[0].values() | list) }}",
  "{% if messages | length is divisibleby(2) %}even{% else %}odd{% endif %} {{ 4 is divisibleby(2) ~ '' }} {{ [1, 2] | length is eq(2) }} {{ 'is in (a,)' }}",
  "{{ messages[::-1] | length }}{{ [1,2,3] | reverse | list }}{{ 'abc' | reverse }}",
  "{{ messages[0]['content'] }} {{ messages[0].content[:2] }} {{ messages[-1].role }} {{ messages[5] is defined }} {{ messages[0].missing is defined }}",
  "{{ messages[5] }}|{{ messages[0].x }}|{{ messages[0]['x'] }}",
  "{{ messages[5].role }}",
  "{{ messages | map(attribute='role') | join(', ') }} {{ messages | map(attribute='role') | unique | list }}",
  "{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | first }}",
  "{{ messages | last }} {{ (messages | first).role }} {{ (messages | last)['role'] }}",
  "{% if messages[0].content is string %}a{% elif messages[0].content is mapping %}b{% else %}c{% endif %}",
  "{% for m in messages if m.role == 'user' %}{{ loop.index }}{{ loop.last }}{% else %}none{% endfor %}",
  "{{ (messages | length) > 1 and messages[1].role == 'user' }} {{ messages|length-1 }} {{ messages | length * 2 }}",
  "{{ messages | rejectattr('role', 'equalto', 'system') | list | length }} {{ messages | selectattr('tool_calls', 'defined') | list }} {{ messages | selectattr('name', 'undefined') | list | length }}",
  "{% if messages %}a{% endif %}{% if [] %}b{% endif %}{% if {} %}c{% endif %}{% if () %}d{% endif %}{% if 0.0 %}e{% endif %}{% if '0' %}f{% endif %}{% if namespace() %}g{% endif %}",
  "{{ [1,2,3] | select('odd') | map('string') | list }} {{ messages | map(attribute='role') | map('capitalize') | join(' ') }} {{ [3,1] | sort(reverse=true) }} {{ [{'a': 2}, {'a': 1}] | sort(attribute='a') }} {{ [{'a': 2}, {'a': 1}] | min(attribute='a') }}",
  "{% for m in messages | selectattr('role', 'in', ['user', 'system']) %}{{ m.content }}{% endfor %}{{ messages | rejectattr('role', 'in', ['user']) | map(attribute='content') | list }}",
  "{{ [1, 2][0:1] }} {{ (1, 2, 3)[::2] }} {{ 'abc'[-2:] }} {{ messages[1:] | length }}",
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
    return { text: renderTemplate(parseTemplate(source), variables) };
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
