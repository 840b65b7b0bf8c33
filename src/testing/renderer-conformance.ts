import assert from "node:assert/strict";
import { type Message, textMessage, textOf } from "../contract/message.ts";
import { TokenPrefix } from "../contract/token-prefix.ts";
import { type ConformanceCase, conformanceCases } from "../core/conformance-case.ts";
import type { Renderer } from "../core/tokens/renderer.ts";

const conversation: readonly Message[] = [
  textMessage("user", "What is 2 + 2?"),
  textMessage("assistant", "It is 4."),
  textMessage("user", "And twice that?"),
];

/**
 * The conformance suite of a renderer. Cases about extending pass if `extend` returns `"broken"`, and for a template
 * that writes no ends of turns.
 *
 * @example
 * import { rendererConformance } from "lyceum/testing";
 * import { createByteRenderer } from "lyceum/tokens";
 * const cases = rendererConformance(() => createByteRenderer());
 * for (const { run } of cases) await run(); // in a test file: for (const { name, run } of cases) test(name, run)
 */
export function rendererConformance(open: () => Renderer | Promise<Renderer>): ConformanceCase[] {
  const question = conversation.slice(0, 1);
  const answer = conversation[1]!;
  // Templates of base models write no end-of-turn token, so the rendered text lacks the one that was sampled.
  const writesEnds = (renderer: Renderer): boolean =>
    renderer.start({ messages: conversation }).some((id) => renderer.stopTokenIds.includes(id));
  return conformanceCases(open, {
    "has a name, a version, a part type and token ids that end a turn": (renderer) => {
      assert.equal(renderer.specificationVersion, "v1");
      assert.notEqual(renderer.name, "");
      assert.ok(renderer.accepts.includes("text"), "accepts has no text");
      assert.ok(renderer.stopTokenIds.length > 0, "stopTokenIds is empty");
    },
    "renders equal conversations to equal ids, and different ones to different ids": (renderer) => {
      assert.deepEqual(renderer.start({ messages: question }), renderer.start({ messages: [...question] }));
      const other = renderer.start({ messages: [textMessage("user", "What is 2 + 3?")] });
      assert.notDeepEqual(renderer.start({ messages: question }), other);
    },
    "completes a message with ids that end the turn and are parsed to the same text": (renderer) => {
      const ids = renderer.complete(answer);
      assert.ok(renderer.stopTokenIds.includes(ids.at(-1)!), "the last id does not end the turn");
      const { message, finish } = renderer.parse({ ids, finish: "stop" });
      assert.equal(message.role, "assistant");
      assert.equal(textOf(message), textOf(answer));
      assert.equal(finish, "stop");
    },
    "parses a truncated completion to its text": (renderer) => {
      const ids = renderer.complete(answer);
      const { message, finish } = renderer.parse({ ids: ids.slice(0, -1), finish: "length" });
      assert.equal(textOf(message), textOf(answer));
      assert.equal(finish, "length");
    },
    "extends a conversation to what it renders as a whole": (renderer) => {
      const ids = [...renderer.start({ messages: question }), ...renderer.complete(answer)];
      const more = renderer.extend({ ids: TokenPrefix.empty.append(ids), messages: conversation, messageCount: 2 });
      if (more === "broken" || !writesEnds(renderer)) return;
      assert.deepEqual([...ids, ...more], renderer.start({ messages: conversation }));
    },
    "adds a missing end of the turn when it extends": (renderer) => {
      const ids = [...renderer.start({ messages: question }), ...renderer.complete(answer)];
      const whole = renderer.extend({ ids: TokenPrefix.empty.append(ids), messages: conversation, messageCount: 2 });
      const cut = renderer.extend({
        ids: TokenPrefix.empty.append(ids.slice(0, -1)),
        messages: conversation,
        messageCount: 2,
      });
      if (whole === "broken" || cut === "broken" || !writesEnds(renderer)) return;
      assert.deepEqual([...ids.slice(0, -1), ...cut], [...ids, ...whole]);
    },
  });
}
