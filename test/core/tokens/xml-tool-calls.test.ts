import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message, ToolSpec } from "../../../src/contract/message.ts";
import { parseAssistantText } from "../../../src/core/tokens/assistant-text.ts";
import { createByteTokenizer } from "../../../src/core/tokens/byte-tokenizer.ts";
import { createChatTemplateRenderer } from "../../../src/core/tokens/chat-template-renderer.ts";
import { settledParts } from "../../../src/core/tokens/settled-parts.ts";

const around = (calls: string): string =>
  `{% if tools %}{{ tools | tojson }}{% endif %}{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% for call in message.tool_calls or [] %}${calls}{% endfor %}</s>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`;
const value = "{{ value if value is string else value | tojson }}";
const forms = {
  functions: around(
    `<tool_call>\n<function={{ call.function.name }}>\n{% for name, value in call.function.arguments | items %}<parameter={{ name }}>\n${value}\n</parameter>\n{% endfor %}</function>\n</tool_call>`,
  ),
  pairs: around(
    `<tool_call>{{ call.function.name }}\n{% for name, value in call.function.arguments | items %}<arg_key>{{ name }}</arg_key>\n<arg_value>${value}</arg_value>\n{% endfor %}</tool_call>`,
  ),
};

const tool: ToolSpec = {
  name: "look_up",
  description: "Looks something up.",
  parameters: {
    type: "object",
    properties: {
      text: { type: "string" },
      choice: { enum: ["1", "2"] },
      count: { type: "integer" },
      size: { type: ["number", "null"] },
      flag: { anyOf: [{ type: "boolean" }, { type: "null" }] },
      list: { type: "array" },
      part: { type: "object" },
    },
  },
};
const xml = (text: string, tools: readonly ToolSpec[] = [tool]) =>
  parseAssistantText(text, { toolCallFormat: "xml", tools });

const texts = fc.oneof(
  fc.string(),
  fc.constantFrom(
    "5",
    "true",
    "None",
    "null",
    "{}",
    "a\nb\n",
    "\n\n",
    " x ",
    "</tool_call>",
    "</function>",
    "<b>",
    "__proto__",
  ),
);
const argumentsOf = fc.record(
  {
    text: texts,
    choice: fc.constantFrom("1", "2"),
    count: fc.integer(),
    size: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0)),
    flag: fc.option(fc.boolean()),
    list: fc.array(fc.oneof(fc.integer(), fc.string(), fc.constant(null))),
    // A call with this key also has its exact text.
    part: fc
      .dictionary(
        fc.string().filter((key) => key !== "__proto__"),
        fc.string(),
      )
      .map((part) => ({ ...part })),
  },
  { requiredKeys: [] },
);

describe.each(Object.entries(forms))("the form of %s", (_, template) => {
  const renderer = createChatTemplateRenderer({
    template,
    tokenizer: { ...createByteTokenizer(), eosToken: undefined, specialTokens: [] },
  });
  const roundTrip = (calls: readonly object[]) => {
    const toolCalls = calls.map((values, i) => ({ id: `call_${i}`, name: tool.name, arguments: values }));
    const message = { role: "assistant", content: [], toolCalls } as unknown as Message;
    const ids = renderer.complete(message);
    const { parseErrors, message: read } = renderer.parse({ ids, finish: "stop", tools: [tool] });
    expect(parseErrors).toBeUndefined();
    return { wanted: toolCalls, read: read.toolCalls };
  };

  it("lists tools", () => {
    const options = { messages: [{ role: "user" as const, content: [{ type: "text" as const, text: "?" }] }] };
    expect(() => renderer.start({ ...options, tools: [tool] })).not.toThrow();
  });

  it("gives back every call that it writes, with its types", () => {
    fc.assert(
      fc.property(fc.array(argumentsOf, { minLength: 1, maxLength: 2 }), (calls) => {
        const { wanted, read } = roundTrip(JSON.parse(JSON.stringify(calls)));
        expect(read).toEqual(wanted);
      }),
      { numRuns: 150 },
    );
  });
});

describe("calls in XML", () => {
  it.each<[string, string, readonly ToolSpec[], object]>([
    [
      "Python's literals",
      "<function=f><parameter=a>\nTrue\n</parameter><parameter=b>None</parameter></function>",
      [],
      { a: true, b: null },
    ],
    [
      "JSON without a schema",
      "<function=f><parameter=a>[1]</parameter><parameter=b>5</parameter></function>",
      [],
      { a: [1], b: 5 },
    ],
    ["text without a schema", "<function=f><parameter=a>five [</parameter></function>", [], { a: "five [" }],
    ["no arguments", "<function=f>\n</function>", [], {}],
    ["only a name", "f\n", [], {}],
    ["a name with a pair", "f<arg_key>a</arg_key><arg_value>x</arg_value>", [], { a: "x" }],
    ["JSON", '{"name": "f", "arguments": {"a": 1}}', [], { a: 1 }],
    [
      "a key of every object",
      "<function=f><parameter=constructor>1</parameter></function>",
      [{ ...tool, name: "f" }],
      { constructor: 1 },
    ],
  ])("may have %s", (_, inner, tools, values) => {
    const { toolCalls, parseErrors, content } = xml(`<tool_call>${inner}</tool_call>`, tools);
    expect({ toolCalls, parseErrors, content }).toEqual({
      toolCalls: [{ id: "call_0", name: "f", arguments: values }],
      parseErrors: [],
      content: [],
    });
  });

  it.each([
    ["no end", "<tool_call>\n<function=f>\n", /no end/],
    ["no end of the function", "<tool_call><function=f></tool_call>", /function/],
    ["no name", "<tool_call><function=></function></tool_call>", /function/],
    ["nothing", "<tool_call></tool_call>", /no name/],
    ["text beside arguments", "<tool_call><function=f>x<parameter=a>1</parameter></function></tool_call>", /outside/],
    [
      "an argument twice",
      "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value><arg_key>a</arg_key><arg_value>2</arg_value></tool_call>",
      /twice/,
    ],
    ["broken JSON", '<tool_call>{"name": </tool_call>', /not JSON/],
  ])("with %s are errors, and their text stays", (_, text, message) => {
    const { toolCalls, parseErrors, content } = xml(text);
    expect(toolCalls).toEqual([]);
    expect(parseErrors).toEqual([{ text, message: expect.stringMatching(message) }]);
    expect(content).toEqual([{ type: "text", text }]);
  });

  it("that are broken do not take the next call with them", () => {
    const good = "<tool_call>\n<function=f>\n</function>\n</tool_call>";
    const { toolCalls, parseErrors } = xml(`<tool_call>\n<function=g>\n</tool_call>\n${good}`);
    expect(toolCalls.map(({ name }) => name)).toEqual(["f"]);
    expect(parseErrors).toHaveLength(1);
  });

  it("are not settled text", () => {
    expect(settledParts("Yes.\n<tool_call>\n<fun", { toolCallFormat: "xml" }).text).toBe("Yes.");
  });
});

it("a template whose calls cannot be read back does not take tools", () => {
  const renderer = createChatTemplateRenderer({
    template: around("<tool_call>{{ call.function.name }}({{ call.function.arguments | tojson }})</tool_call>"),
    tokenizer: createByteTokenizer(),
  });
  const messages: Message[] = [{ role: "user", content: [{ type: "text", text: "?" }] }];
  expect(() => renderer.start({ messages, tools: [tool] })).toThrow(
    expect.objectContaining({ code: "policy.unsupported-input", message: expect.stringContaining("read back") }),
  );
});
