import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Message, textMessage } from "../../src/message/message.ts";
import { createByteRenderer } from "../../src/tokens/byte-renderer.ts";
import { byteSpecialTokens } from "../../src/tokens/byte-tokenizer.ts";
import { conversation } from "./conversations.ts";

const renderer = createByteRenderer();
const [eot, system, user, assistant] = [257, 259, 260, 262];
const bytes = (text: string): number[] => [...Buffer.from(text)];

/** Texts as adversaries write them: the marker tokens themselves, empty text, control bytes. */
const hostileText = fc.oneof(
  fc.string({ unit: fc.constantFrom(...byteSpecialTokens, "a", "b"), maxLength: 4 }),
  fc.string({ unit: "binary", maxLength: 4 }),
);
const conversations = conversation({ roles: ["system", "user", "tool", "assistant"], text: hostileText });

describe("byte renderer", () => {
  it("renders one user message as its bytes and one marker", () => {
    expect(renderer.start({ messages: [textMessage("user", "12+34=")] })).toEqual([...bytes("12+34="), assistant]);
  });

  it("marks every other message by its role", () => {
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

  it("can be read back to the very conversation", () => {
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
        const extension = renderer.extend({ ids, messages, messageCount: before.length + 1 });
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

  it("cuts a stop string and all that follows it", () => {
    const action = renderer.parse({ ids: bytes("4\n\nrest"), finish: "stop", stopString: "\n\n" });
    expect(action.message).toEqual(textMessage("assistant", "4"));
  });

  it("refuses what it cannot express", () => {
    const reasoning: Message = { role: "user", content: [{ type: "reasoning", text: "x" }] };
    const call: Message = { role: "assistant", content: [], toolCalls: [{ id: "1", name: "f", arguments: {} }] };
    const tool = { name: "f", description: "", parameters: {} };
    const unsupported = expect.objectContaining({ code: "policy.unsupported-input" });
    expect(() => renderer.start({ messages: [reasoning] })).toThrow(unsupported);
    expect(() => renderer.start({ messages: [call] })).toThrow(unsupported);
    expect(() => renderer.complete(call)).toThrow(unsupported);
    expect(() => renderer.start({ messages: [textMessage("user", "x")], tools: [tool] })).toThrow(unsupported);
  });
});

/** The inverse of `start`, by the layout as documented: proves that the layout is unambiguous. */
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
