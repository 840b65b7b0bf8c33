import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withCallIds } from "../../../environments/conversations/call-ids.ts";
import { conversationRowSchema } from "../../../environments/conversations/conversation-task.ts";
import { preferenceRowSchema } from "../../../environments/preferences/preference-task.ts";
import { type Message, textMessage } from "../../../src/contract/message.ts";
import { callArguments } from "../../../src/core/tools/call-arguments.ts";

const user = { role: "user", content: "q" };
const schema = conversationRowSchema(() => undefined);
const callOf = (given: object, name = "f") => ({ function: { name, ...given } });

describe("the arguments of a call in a row", () => {
  const read = (given: object) =>
    schema.parse({ messages: [user, { role: "assistant", tool_calls: [callOf(given)] }] }).messages[1]!.toolCalls![0]!;

  it.each<[string, object, unknown]>([
    ["absent", {}, {}],
    ["null", { arguments: null }, {}],
    ["an empty text", { arguments: "" }, {}],
    ["a blank", { arguments: " \n" }, {}],
    ["the text null", { arguments: "null" }, {}],
    ["two quotes", { arguments: '""' }, {}],
    ["null as JSON twice", { arguments: '"null"' }, {}],
    ["an empty list", { arguments: "[]" }, {}],
    ["an object", { arguments: { a: 1 } }, { a: 1 }],
    ["JSON", { arguments: '{"a": 1}' }, { a: 1 }],
    ["JSON twice", { arguments: JSON.stringify('{"a": 1}') }, { a: 1 }],
    ["JSON twice with blanks", { arguments: JSON.stringify(' {"a": {"b": "{}"}} ') }, { a: { b: "{}" } }],
    ["an empty object before another", { arguments: '{}{"a": 1}' }, { a: 1 }],
    ["a text", { arguments: '"go"' }, "go"],
  ])("is read as a server's answer is: %s", (_, given, wanted) => {
    expect(read(given).arguments).toEqual(wanted);
    expect(callArguments((given as { arguments?: unknown }).arguments).arguments).toEqual(wanted);
  });

  it.each(["{", "{'a': 1}", "f(1)", '"{"', "{}{}x"])("is refused if it is not JSON: %s", (given) => {
    expect(() => read({ arguments: given })).toThrow(/arguments of the call of f are not JSON/);
  });
});

describe("the ids of calls", () => {
  const idsOf = (messages: readonly object[]) =>
    schema.parse({ messages: [user, ...messages] }).messages.flatMap(({ toolCalls = [], toolCallId, role }) => {
      return role === "tool" ? [`-> ${toolCallId}`] : toolCalls.map(({ id }) => id);
    });
  const asks = (...calls: readonly object[]) => ({ role: "assistant", tool_calls: calls });
  const bare = (name = "f") => callOf({ arguments: "{}" }, name);
  const result = (more: object = {}) => ({ role: "tool", content: "r", ...more });
  const end = { role: "assistant", content: "done" };

  it.each<[string, readonly object[], readonly string[]]>([
    ["one call", [asks(bare()), result(), end], ["call-1", "-> call-1"]],
    [
      "calls of several messages",
      [asks(bare()), result(), asks(bare()), result(), end],
      ["call-1", "-> call-1", "call-2", "-> call-2"],
    ],
    [
      "parallel calls, results in order",
      [asks(bare(), bare()), result(), result(), end],
      ["call-1", "call-2", "-> call-1", "-> call-2"],
    ],
    [
      "parallel calls, results named in another order",
      [asks(bare("f"), bare("g")), result({ name: "g" }), result({ name: "f" }), end],
      ["call-1", "call-2", "-> call-2", "-> call-1"],
    ],
    ["only the result has an id", [asks(bare()), result({ tool_call_id: "x" }), end], ["x", "-> x"]],
    [
      "only the results have ids",
      [asks(bare(), bare()), result({ tool_call_id: "x" }), result({ tool_call_id: "y" }), end],
      ["x", "y", "-> x", "-> y"],
    ],
    ["only the call has an id", [asks({ id: "x", ...bare() }), result(), end], ["x", "-> x"]],
    ["an empty id", [asks({ id: "", ...bare() }), result(), end], ["call-1", "-> call-1"]],
    [
      "a given id that looks generated",
      [asks({ id: "call-1", ...bare() }, bare()), result({ tool_call_id: "call-1" }), result(), end],
      ["call-1", "call-2", "-> call-1", "-> call-2"],
    ],
    [
      "a later given id that looks generated",
      [asks(bare()), result(), asks({ id: "call-1", ...bare() }), result({ tool_call_id: "call-1" }), end],
      ["call-2", "-> call-2", "call-1", "-> call-1"],
    ],
    [
      "given ids in another order",
      [
        asks({ id: "a", ...bare() }, { id: "b", ...bare() }),
        result({ tool_call_id: "b" }),
        result({ tool_call_id: "a" }),
        end,
      ],
      ["a", "b", "-> b", "-> a"],
    ],
    ["more results than calls", [asks(bare()), result(), result(), end], ["call-1", "-> call-1", "-> undefined"]],
  ])("belong to their results: %s", (_, messages, wanted) => {
    expect(idsOf(messages)).toEqual(wanted);
  });

  it("are unique, and each result without an id belongs to one call of the message before it", () => {
    const turn = fc.record({
      ids: fc.array(fc.constantFrom("", "", "call-1", "call-3", "x"), { minLength: 1, maxLength: 3 }),
      results: fc.nat(3),
    });
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 4 }), (turns) => {
        const seen = new Set<string>();
        const messages = turns.flatMap(({ ids, results }): Message[] => {
          const own = ids.map((id, i) => (seen.has(id) || ids.indexOf(id) < i ? "" : id));
          for (const id of own) if (id !== "") seen.add(id);
          return [
            {
              role: "assistant",
              content: [],
              toolCalls: own.map((id) => ({ id, name: "f", arguments: {} })),
            },
            ...Array.from({ length: Math.min(results, own.length) }, () => textMessage("tool", "r")),
          ];
        });
        const read = withCallIds(messages);
        const calls = read.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id));
        expect(calls).not.toContain("");
        expect(new Set(calls).size).toBe(calls.length);
        let open: string[] = [];
        for (const { toolCalls, toolCallId } of read) {
          if (toolCalls !== undefined) open = toolCalls.map(({ id }) => id);
          else expect(toolCallId).toBe(open.shift());
        }
      }),
    );
  });

  it("of a preference continue those of its prompt", () => {
    const call = { role: "assistant", tool_calls: [bare()] };
    const row = { prompt: [user, call, result(), user], chosen: [call], rejected: "no" };
    const { messages, chosen } = preferenceRowSchema(() => undefined).parse(row);
    expect(messages[2]!.toolCallId).toBe("call-1");
    expect(chosen.toolCalls![0]!.id).toBe("call-2");
  });
});

it("a preference keeps the variables of its template for both answers", () => {
  const row = { prompt: "q", chosen: "a", rejected: "b", chat_template_kwargs: { thinking: false, style: null } };
  const read = preferenceRowSchema(() => undefined);
  expect(read.parse(row)).toMatchObject({ templateVariables: { thinking: false } });
  expect(read.parse({ ...row, chat_template_kwargs: {} })).not.toHaveProperty("templateVariables");
  expect(() => read.parse({ ...row, chat_template_kwargsJson: '{"n":5.0}' })).toThrow(/5\.0/);
});
