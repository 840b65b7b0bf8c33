import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { conversationRowSchema } from "../../environments/conversations/conversation-task.ts";
import { readBenchmarkRows } from "../../environments/shared/code-benchmarks/benchmark-row.ts";
import { argumentsText } from "../../src/contract/message.ts";
import { extractJson } from "../../src/core/parsers/extract-json.ts";
import { jsonlTaskset } from "../../src/core/taskset/jsonl-taskset.ts";
import { parseExactJson, parseMessagesJson, reordersKeys } from "../../src/core/text/exact-json.ts";
import { parseAssistantText } from "../../src/core/tokens/assistant-text.ts";
import { compileChatTemplate } from "../../src/core/tokens/chat-template.ts";
import { callArguments } from "../../src/core/tools/call-arguments.ts";
import { temporaryFolder } from "../temporary-folder.ts";

/** Integers that `JSON.parse` changes. */
const rounded = [
  "9007199254740993",
  "-9007199254740993",
  "9007199254740995",
  "12345678901234567890",
  "18446744073709551615",
  "-9223372036854775807",
  "1000000000000000000000",
  "340282366920938463463374607431768211455",
  `1${"0".repeat(400)}`,
  "1152921504606846977",
  "99999999999999999",
];

let folder = "";
beforeAll(async () => {
  folder = temporaryFolder();
});

async function rowOf(line: string): Promise<unknown> {
  const path = join(folder, "rows.jsonl");
  await writeFile(path, `${line}\n`);
  return (await (await jsonlTaskset(path)).get(0)).task;
}

describe.each(rounded)("the integer %s", (digits) => {
  it("keeps its digits in a row, in a benchmark file and in the JSON of a reply", async () => {
    expect(await rowOf(`{"answer": ${digits}, "list": [{"n":${digits}}]}`)).toEqual({
      answer: digits,
      list: [{ n: digits }],
    });
    for (const [name, text] of [
      ["rows.json", `[{"n": ${digits}}]`],
      ["more.jsonl", `{"n": ${digits}}`],
    ] as const) {
      await writeFile(join(folder, name), text);
      expect(await readBenchmarkRows(join(folder, name))).toEqual([{ n: digits }]);
    }
    expect(extractJson(`It is {"n": ${digits}}.`)).toEqual({ n: digits });
  });

  it("is refused in the arguments of a model's tool call, with its digits", () => {
    expect(() => parseExactJson(`{"id": ${digits}}`)).toThrow(digits.slice(0, 40));
    const call = `{"name": "f", "arguments": {"id": ${digits}}}`;
    const xml = `<function=f>\n<parameter=id>\n${digits}\n</parameter>\n</function>`;
    for (const [inner, toolCallFormat] of [
      [call, "hermes"],
      [xml, "xml"],
    ] as const) {
      const { toolCalls, parseErrors } = parseAssistantText(`<tool_call>\n${inner}\n</tool_call>`, { toolCallFormat });
      expect(toolCalls).toEqual([]);
      expect(parseErrors[0]!.message).toContain(digits.slice(0, 40));
    }
    expect(() => callArguments(`{"id": ${digits}}`)).toThrow(digits.slice(0, 40));
  });
});

const recorded = JSON.parse(await readFile(new URL("exact-json-cases.json", import.meta.url), "utf8")) as [
  text: string,
  python: string,
][];

describe("the arguments of a call and the parameters of a tool", () => {
  const template =
    "{% for tool in tools or [] %}{{ tool.function.parameters | tojson }}{% endfor %}{% for message in messages %}{{ message.content }}{% for call in message.tool_calls or [] %}{{ call.function.name }}{{ call.function.arguments | tojson }}{% endfor %}{% endfor %}";
  const { render } = compileChatTemplate(template);
  const schema = conversationRowSchema(() => undefined);

  async function shownRows(lines: readonly string[]) {
    const path = join(folder, "calls.jsonl");
    await writeFile(path, lines.join("\n"));
    const rows = await jsonlTaskset(path);
    return Promise.all(
      lines.map(async (_, i) => {
        const { messages, tools = [] } = schema.parse((await rows.get(i)).task);
        return { shown: render({ messages, tools, generationPrompt: false }), messages };
      }),
    );
  }
  const line = (call: string, parameters = "{}"): string =>
    `{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": ${call}}}]}], "tools": [{"type": "function", "function": {"name": "f", "parameters": ${parameters}}}]}`;

  it("are shown as Python shows them: in a row as an object or a text, written and read again", async () => {
    const forms = recorded.flatMap(([text, python]) =>
      [text, JSON.stringify(text), JSON.stringify(JSON.stringify(text))].map((given) => ({ text, python, given })),
    );
    const rows = await shownRows(forms.map(({ text, given }) => line(given, text)));
    expect(rows.map(({ shown }) => shown)).toEqual(forms.map(({ python }) => `${python}qf${python}`));
    const written = rows.map(({ messages }) => argumentsText(messages[1]!.toolCalls![0]!));
    const again = await shownRows(written.map((text) => line(text)));
    expect(again.map(({ shown }) => shown)).toEqual(forms.map(({ python }) => `{}qf${python}`));
  });

  it("are shown so after a trace and with marks of control tokens", () => {
    const mark = (text: string) => text.replaceAll("a", "\ue000");
    for (const [text, python] of recorded) {
      const read = callArguments(text, { largeIntegers: "text" });
      const call = { id: "1", name: "f", ...(JSON.parse(JSON.stringify(read)) as typeof read) };
      const message = { role: "assistant", content: [], toolCalls: [call] } as const;
      expect(render({ messages: [message], tools: [], generationPrompt: false })).toBe(`f${python}`);
      const marked = render({ messages: [message], tools: [], generationPrompt: false, mark });
      expect(marked.replaceAll("\ue000", "a")).toBe(`f${python}`);
    }
  });

  it("of a model and of a server keep their text", () => {
    const answer = (inner: string) => parseAssistantText(inner, { toolCallFormat: "hermes" }).toolCalls[0];
    const text = '{"10": 5.0, "2": [1e2, {"b": 1}], "x": "5.0"}';
    const exact = '{"10":5.0,"2":[100.0,{"b":1}],"x":"5.0"}';
    const wanted = { name: "f", arguments: JSON.parse(text), argumentsJson: exact };
    for (const given of [text, JSON.stringify(text)])
      expect(answer(`<tool_call>{"name": "f", "arguments": ${given}}</tool_call>`)).toMatchObject(wanted);
    const body = parseMessagesJson(`{"tool_calls": [{"function": {"name": "f", "arguments": ${text}}}]}`, "rounded");
    expect(body).toMatchObject({ tool_calls: [{ function: wanted }] });
    const xml = "<tool_call>\n<function=f>\n<parameter=x>\n5.0\n</parameter>\n</function>\n</tool_call>";
    expect(parseAssistantText(xml, { toolCallFormat: "xml" }).toolCalls).toMatchObject([
      { arguments: { x: 5 }, argumentsJson: '{"x":5.0}' },
    ]);
  });

  it("have no text beside them if a value expresses them", () => {
    for (const text of ["{}", '{"1": 0.5, "2": "5.0", "a": [-1, 1e30, 9007199254740991], "b": {"c": "1e2"}}'])
      expect(callArguments(text)).toEqual({ arguments: JSON.parse(text) });
  });

  it("are refused if a number is too large", async () => {
    await expect(rowOf(line('{"a": 1e400}'))).rejects.toMatchObject({ code: "data.malformed" });
    expect(() => callArguments('{"a": 1e400}')).toThrow(/too large/);
  });
});

it.each([
  ["9007199254740993.0", "9007199254740993.0"],
  ["0.1000000000000000055", "0.1000000000000000055"],
  ["18446744073709551616", "18446744073709551616"],
  ["9223372036854775808", "9223372036854775808"],
  ["-9007199254740993.0", "-9007199254740993.0"],
  ["9.007199254740993e15", "9.007199254740993e15"],
  ["3.14159265358979323846", "3.14159265358979323846"],
  ["0.30000000000000004", 0.30000000000000004],
  // As programs print 0.1 with 17 digits and more.
  ["0.10000000000000001", 0.1],
  ["0.1000000000000000055511151231257827", 0.1],
  ["0.10000000000000000000", 0.1],
  ["9007199254740992.0", 9007199254740992],
  ["5.0", 5],
  ["1e21", 1e21],
])("a label %s of a row never changes without a word", async (written, read) => {
  expect(await rowOf(`{"answer": ${written}, "more": [${written}]}`)).toEqual({ answer: read, more: [read] });
});

it("agrees with JSON.parse about every text whose integers are exact", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), fc.integer({ min: -(2 ** 53) + 1, max: 2 ** 53 - 1 }), (text, integer) => {
      // The digits in a text make the reader look at every number.
      const whole = `{"a": ${text}, "digits": "9007199254740993", "integer": ${integer}, "float": 0.12345678901234567}`;
      for (const mode of ["refuse", "text"] as const) expect(parseExactJson(whole, mode)).toEqual(JSON.parse(whole));
    }),
    { numRuns: 200 },
  );
});

it("finds exactly the objects whose keys JSON.parse reorders", () => {
  const key = fc.oneof(
    fc.integer({ min: 0, max: 12 }).map(String),
    fc.constantFrom("a", "b", "01", "-1", "4294967295", '"', "{"),
  );
  const object = fc.uniqueArray(key, { maxLength: 5 });
  fc.assert(
    fc.property(object, object, (outer, inner) => {
      const write = (keys: readonly string[], value: string): string =>
        `{${keys.map((one) => `${JSON.stringify(one)} : ${value}`).join(", ")}}`;
      const text = `[${write(outer, write(inner, '"{\\"1\\": 2"'))}]`;
      const kept = (keys: readonly string[]): boolean =>
        Object.keys(JSON.parse(write(keys, "0"))).join("|") === keys.join("|");
      expect(reordersKeys(text)).toBe(!(kept(outer) && (outer.length === 0 || kept(inner))));
    }),
  );
});

it("leaves other rows as they are", async () => {
  const args = '{"10": 1.0, "2": 2}';
  expect(await rowOf(`{"options": ${args}, "arguments": ${args}, "tools": ["f"]}`)).toEqual({
    options: JSON.parse(args),
    arguments: JSON.parse(args),
    tools: ["f"],
  });
});

it("sees keys with escapes", () => {
  expect(reordersKeys('{"1":1,"\\u0030":2}')).toBe(true);
  expect(reordersKeys('{"1":1,"a\\\\u0030":2}')).toBe(false);
});
