import fc from "fast-check";
import type { Json } from "../../../src/contract/json.ts";
import { type Message, type Role, textMessage } from "../../../src/contract/message.ts";

/** Text without anything special for a template or tokenizer, and unchanged by trimming. */
export const plainText: fc.Arbitrary<string> = fc
  .string({ unit: fc.constantFrom(..."abcXYZ 019.,=+\n\t-'\"\\é漢😀") })
  .map((text) => text.trim());

/** A conversation with any order of roles. */
export function conversation(options: {
  readonly roles: readonly Role[];
  readonly text?: fc.Arbitrary<string>;
}): fc.Arbitrary<Message[]> {
  const message = fc.record({ role: fc.constantFrom(...options.roles), text: options.text ?? plainText });
  return fc
    .array(message, { minLength: 1, maxLength: 6 })
    .map((items) => items.map(({ role, text }) => textMessage(role, text)));
}

const json = fc.oneof(plainText, fc.integer({ min: -99, max: 99 }), fc.boolean(), fc.constant(null));
const argumentsJson: fc.Arbitrary<{ readonly [key: string]: Json }> = fc.dictionary(
  fc.stringMatching(/^[a-z]{1,3}$/),
  fc.oneof(json, fc.array(json, { maxLength: 2 }), fc.dictionary(fc.stringMatching(/^[a-z]$/), json, { maxKeys: 2 })),
  { maxKeys: 2, noNullPrototype: true },
);

/** An assistant's message with tool calls, with or without a text. */
export const callingMessage: fc.Arbitrary<Message> = fc
  .tuple(
    fc.array(fc.tuple(fc.stringMatching(/^[\w.:/-]{1,6}$/), argumentsJson), { minLength: 1, maxLength: 3 }),
    fc.constantFrom("", "a", "a b"),
  )
  .map(([calls, text]) => ({
    ...textMessage("assistant", text),
    ...(text === "" ? { content: [] } : {}),
    toolCalls: calls.map(([name, input], i) => ({ id: `call_${i}`, name, arguments: input })),
  }));

/** A conversation of alternating user and assistant messages that ends with the user's. */
export function turns(text: fc.Arbitrary<string> = plainText): fc.Arbitrary<Message[]> {
  return fc
    .array(fc.tuple(text, text), { maxLength: 3 })
    .chain((pairs) => text.map((last) => ({ pairs, last })))
    .map(({ pairs, last }) => [
      ...pairs.flatMap(([user, assistant]) => [textMessage("user", user), textMessage("assistant", assistant)]),
      textMessage("user", last),
    ]);
}
