import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message } from "../../../src/contract/message.ts";
import { inlineText, parseAssistantText } from "../../../src/core/tokens/assistant-text.ts";

const hermes = (text: string) => parseAssistantText(text, { toolCallFormat: "hermes" });
const llama = (text: string) => parseAssistantText(text, { toolCallFormat: "llama" });
const text = (value: string) => ({ type: "text", text: value });
const reasoning = (value: string) => ({ type: "reasoning", text: value });

describe("reasoning", () => {
  it.each([
    ["a block and an answer", "<think>\na\nb\n</think>\n\n2\n", [reasoning("a\nb"), text("2\n")]],
    ["an empty block", "<think>\n\n</think>\n\n2", [text("2")]],
    ["no answer", "<think>a</think>", [reasoning("a")]],
    ["an unclosed block", "<think>a 2", [reasoning("a 2")]],
    ["nothing", "", [text("")]],
    ["tags further on, which are text", "see <think>a</think>", [text("see <think>a</think>")]],
    ["a second end, which is text", "<think>a</think>b</think>", [reasoning("a"), text("b</think>")]],
  ])("of %s", (_, given, content) => {
    expect(hermes(given)).toEqual({ content, toolCalls: [], parseErrors: [] });
  });

  it("that the prompt opened ends at the first end tag, or not at all", () => {
    const inside = (given: string) => parseAssistantText(given, { toolCallFormat: "none", startsInReasoning: true });
    expect(inside("a</think>2").content).toEqual([reasoning("a"), text("2")]);
    expect(inside("a").content).toEqual([reasoning("a")]);
    expect(inside("<think>a</think>2").content).toEqual([reasoning("a"), text("2")]);
  });

  it("may mention tool calls without making one", () => {
    expect(hermes('<think><tool_call>{"name": "f"}</tool_call></think>no').toolCalls).toEqual([]);
  });
});

describe("Hermes tool calls", () => {
  it("are removed from the text, in order, with their own ids", () => {
    const given =
      'First.\n<tool_call>\n{"name": "f", "arguments": {"a": [1, null]}}\n</tool_call>\n<tool_call>{"name":"g"}</tool_call>\n';
    expect(hermes(given)).toEqual({
      content: [text("First.")],
      toolCalls: [
        { id: "call_0", name: "f", arguments: { a: [1, null] } },
        { id: "call_1", name: "g", arguments: {} },
      ],
      parseErrors: [],
    });
  });

  it("may have their arguments as JSON in a string", () => {
    expect(hermes('<tool_call>{"name": "f", "arguments": "{\\"a\\": 1}"}</tool_call>').toolCalls).toEqual([
      { id: "call_0", name: "f", arguments: { a: 1 } },
    ]);
  });

  it.each([
    ["no JSON", "<tool_call>f(1)</tool_call>", /not JSON/],
    ["a list", "<tool_call>[]</tool_call>", /not a JSON object/],
    ["null", "<tool_call>null</tool_call>", /not a JSON object/],
    ["no name", '<tool_call>{"arguments": {}}</tool_call>', /name/],
    ["a name that is no text", '<tool_call>{"name": 1}</tool_call>', /name/],
    ["arguments that are a number", '<tool_call>{"name": "f", "arguments": 1}</tool_call>', /arguments/],
    ["arguments that are broken JSON", '<tool_call>{"name": "f", "arguments": "{"}</tool_call>', /arguments/],
    ["no end", '<tool_call>{"name": "f"}', /no end/],
    ["nothing in it", "<tool_call></tool_call>", /not JSON/],
  ])("with %s are errors, and stay in the text", (_, given, message) => {
    const parsed = hermes(`so ${given}`);
    expect(parsed.toolCalls).toEqual([]);
    expect(parsed.parseErrors).toEqual([{ message: expect.stringMatching(message), text: given }]);
    expect(parsed.content).toEqual([text(`so ${given}`)]);
  });

  it("that are valid are kept next to an invalid one", () => {
    const parsed = hermes('<tool_call>{</tool_call><tool_call>{"name": "f"}</tool_call>');
    expect(parsed.toolCalls).toMatchObject([{ id: "call_0", name: "f" }]);
    expect(parsed.parseErrors).toHaveLength(1);
    expect(parsed.content).toEqual([text("<tool_call>{</tool_call>")]);
  });

  it("cannot set a prototype", () => {
    const call = hermes('<tool_call>{"name": "f", "arguments": {"__proto__": {"x": 1}}}</tool_call>').toolCalls[0]!;
    expect((call.arguments as { x?: number }).x).toBeUndefined();
    expect(Object.keys(call.arguments as object)).toEqual(["__proto__"]);
  });
});

describe("Llama tool calls", () => {
  it("are the whole answer", () => {
    const toolCalls = [{ id: "call_0", name: "f", arguments: { a: 1 } }];
    expect(llama(' {"name": "f", "parameters": {"a": 1}}\n')).toEqual({ content: [], toolCalls, parseErrors: [] });
    expect(llama('<|python_tag|>{"name": "f", "parameters": {"a": 1}}').toolCalls).toEqual(toolCalls);
    expect(llama('{"type": "function", "name": "f", "parameters": {"a": 1}}').toolCalls).toEqual(toolCalls);
  });

  it("are not found in other JSON or text", () => {
    for (const given of ['{"answer": 2}', "[1, 2]", 'call {"name": "f", "parameters": {}}', "2"]) {
      expect(llama(given)).toEqual({ content: [text(given)], toolCalls: [], parseErrors: [] });
    }
  });

  it.each([
    '{"name": "f", "parameters": {"a": }',
    "<|python_tag|>print(1)",
  ])("that are malformed are errors: %s", (given) => {
    const parsed = llama(given);
    expect(parsed.toolCalls).toEqual([]);
    expect(parsed.parseErrors).toHaveLength(1);
    expect(parsed.content).toEqual([text(given)]);
  });
});

describe("inline text", () => {
  it("is parsed back to the same message", () => {
    const word = fc.string({ unit: fc.constantFrom(..."abc {}\"'\n\\é😀") }).map((value) => value.trim());
    const call = fc.record({ name: fc.constantFrom("f", "g"), arguments: fc.dictionary(word, fc.jsonValue()) });
    fc.assert(
      fc.property(word, word, fc.array(call, { maxLength: 3 }), (thought, answer, calls) => {
        const toolCalls = calls.map((value, i) => ({
          id: `call_${i}`,
          name: value.name,
          arguments: JSON.parse(JSON.stringify(value.arguments)),
        }));
        const message: Message = { role: "assistant", content: [reasoning(thought), text(answer)] as never, toolCalls };
        const parsed = hermes(inlineText(message, { reasoning: true, toolCalls: true }));
        expect(parsed.toolCalls).toEqual(toolCalls);
        expect(parsed.parseErrors).toEqual([]);
        expect(parsed.content.filter((part) => part.type === "text").map((part) => part.text)).toEqual(
          answer === "" && (thought !== "" || calls.length > 0) ? [] : [answer],
        );
        expect(parsed.content.filter((part) => part.type === "reasoning")).toEqual(
          thought === "" ? [] : [reasoning(thought)],
        );
      }),
    );
  });
});
