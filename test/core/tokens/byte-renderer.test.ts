import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/contract/json.ts";
import { type Message, textMessage, textOf } from "../../../src/contract/message.ts";
import { TokenPrefix } from "../../../src/contract/token-prefix.ts";
import { createByteRenderer } from "../../../src/core/tokens/byte-renderer.ts";
import { byteSpecialTokens } from "../../../src/core/tokens/byte-tokenizer.ts";
import { callMessage } from "../../../src/core/tools/call-message.ts";
import { callingMessage, conversation } from "./conversations.ts";

const renderer = createByteRenderer();
const [bos, eot, system, user, tool, assistant] = [256, 257, 259, 260, 261, 262];
const bytes = (text: string): number[] => [...Buffer.from(text)];

/** Adversarial texts: the marker tokens themselves, empty text, control bytes. */
const hostileText = fc.oneof(
  fc.string({ unit: fc.constantFrom(...byteSpecialTokens, "a", "b"), maxLength: 4 }),
  fc.string({ unit: "binary", maxLength: 4 }),
);
const conversations = conversation({ roles: ["system", "user", "tool", "assistant"], text: hostileText });

describe("byte renderer", () => {
  it("renders one user message as its bytes and one marker", () => {
    expect(renderer.start({ messages: [textMessage("user", "12+34=")] })).toEqual([...bytes("12+34="), assistant]);
  });

  it("marks every other message with its role", () => {
    const messages = [textMessage("system", "s"), textMessage("user", "u"), textMessage("assistant", "a")];
    expect(renderer.start({ messages })).toEqual([system, 115, user, 117, assistant, 97, eot, assistant]);
    expect(renderer.start({ messages: [textMessage("user", "")] })).toEqual([user, assistant]);
  });

  it("is injective: different conversations have different ids", () => {
    const key = (messages: readonly Message[]): string => JSON.stringify(messages);
    fc.assert(
      fc.property(conversations, conversations, (left, right) => {
        fc.pre(key(left) !== key(right));
        expect(renderer.start({ messages: left })).not.toEqual(renderer.start({ messages: right }));
      }),
      { numRuns: 2000 },
    );
  });

  it("can be decoded to the same conversation", () => {
    fc.assert(
      fc.property(conversations, (messages) => {
        expect(read(renderer.start({ messages }))).toEqual(messages);
      }),
    );
  });

  it("extends start and completion to the ids of the whole conversation", () => {
    fc.assert(
      fc.property(conversations, hostileText, conversations, fc.boolean(), (before, text, after, cut) => {
        const answer = textMessage("assistant", text);
        const sampled = renderer.complete(answer);
        const ids = [...renderer.start({ messages: before }), ...(cut ? sampled.slice(0, -1) : sampled)];
        const messages = [...before, answer, ...after];
        const extension = renderer.extend({
          ids: TokenPrefix.empty.append(ids),
          messages,
          messageCount: before.length + 1,
        });
        expect([...ids, ...extension]).toEqual(renderer.start({ messages }));
      }),
    );
  });

  it("parses what it completes", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const message = textMessage("assistant", text);
        expect(renderer.parse({ ids: renderer.complete(message), finish: "stop" })).toEqual({
          message,
          finish: "stop",
        });
      }),
    );
    expect(renderer.parse({ ids: bytes("46"), finish: "length" }).finish).toBe("length");
  });

  it("cuts a stop sequence and everything after it", () => {
    const action = renderer.parse({ ids: bytes("4\n\nrest"), finish: "stop", stopString: "\n\n" });
    expect(action.message).toEqual(textMessage("assistant", "4"));
  });

  it("renders calls, results and the names of tools", () => {
    const messages = [
      textMessage("user", "u"),
      callMessage(["add", { by: 2 }], ["look"]),
      textMessage("tool", "2"),
      textMessage("tool", "a wall"),
    ];
    const turn = [...bytes("add"), ...bytes('{"by":2}')];
    const called = [assistant, tool, ...turn, tool, ...bytes("look"), eot];
    const results = [tool, ...bytes("2"), tool, ...bytes("a wall"), assistant];
    expect(renderer.start({ messages })).toEqual([...bytes("u"), ...called, ...results]);
    const tools = ["add", "look"].map((name) => ({ name, description: "", parameters: {} }));
    expect(renderer.start({ messages, tools })).toEqual([
      bos,
      ...bytes("add,look"),
      user,
      ...bytes("u"),
      ...called,
      ...results,
    ]);
  });

  it("parses calls, with any arguments, and extends with their results", () => {
    const tools = [{ name: "f", description: "", parameters: {} }];
    fc.assert(
      fc.property(callingMessage, hostileText, (message, result) => {
        const sampled = renderer.complete(message);
        expect(renderer.parse({ ids: sampled, finish: "stop" })).toEqual({ message, finish: "tool-calls" });
        const before = [textMessage("user", "go")];
        const ids = [...renderer.start({ messages: before, tools }), ...sampled];
        const messages = [...before, message, textMessage("tool", result)];
        const extension = renderer.extend({ ids: TokenPrefix.empty.append(ids), messages, messageCount: 2, tools });
        expect([...ids, ...extension]).toEqual(renderer.start({ messages, tools }));
        const others = [{ name: "ff", description: "", parameters: {} }];
        expect(renderer.extend({ ids: TokenPrefix.empty.append(ids), messages, messageCount: 2, tools: others })).toBe(
          "broken",
        );
        expect(renderer.extend({ ids: TokenPrefix.empty.append(ids), messages, messageCount: 2 })).toBe("broken");
      }),
    );
  });

  it.each([
    ["no name", [tool, ...bytes('{"a":1}')]],
    ["arguments that are cut off", [tool, ...bytes('f{"a":')]],
    ["arguments that are no object", [tool, ...bytes("f[1]")]],
    ["nothing", [tool]],
  ])("a call with %s is a parse error, and stays in the text", (_, ids) => {
    const action = renderer.parse({ ids: [...bytes("x"), ...ids, eot], finish: "stop" });
    expect(action).toMatchObject({
      finish: "stop",
      parseErrors: [{ message: expect.stringMatching(/cannot be read/) }],
    });
    expect(textOf(action.message)).toBe(`x<|tool|>${Buffer.from(ids.slice(1)).toString()}`);
    expect(action.message.toolCalls).toBeUndefined();
  });

  it("treats a tool mark written in bytes as text", () => {
    const action = renderer.parse({ ids: [...bytes("<|tool|>f"), eot], finish: "stop" });
    expect(action).toEqual({ message: textMessage("assistant", "<|tool|>f"), finish: "stop" });
  });

  it("refuses input that it cannot express", () => {
    const reasoning: Message = { role: "user", content: [{ type: "reasoning", text: "x" }] };
    const call = (name: string, input: Json): Message => {
      return { role: "assistant", content: [], toolCalls: [{ id: "1", name, arguments: input }] };
    };
    const unsupported = expect.objectContaining({ code: "policy.unsupported-input" });
    expect(() => renderer.start({ messages: [reasoning] })).toThrow(unsupported);
    expect(() => renderer.start({ messages: [call("a b", {})] })).toThrow(unsupported);
    expect(() => renderer.complete(call("a", [1]))).toThrow(unsupported);
  });
});

/** The inverse of `start`, by the documented layout. It proves that the layout is unambiguous. */
function read(ids: readonly number[]): Message[] {
  const roles = { 259: "system", 260: "user", 261: "tool", 262: "assistant" } as const;
  const messages: { role: Message["role"]; bytes: number[] }[] = [];
  for (const id of ids) {
    if (id in roles) messages.push({ role: roles[id as keyof typeof roles], bytes: [] });
    else if (id < 256) {
      if (messages.length === 0) messages.push({ role: "user", bytes: [] });
      messages.at(-1)!.bytes.push(id);
    }
  }
  return messages.slice(0, -1).map(({ role, bytes }) => textMessage(role, Buffer.from(bytes).toString("utf8")));
}
