import fc from "fast-check";
import { expect, test } from "vitest";
import { captureServer } from "../../../server/capture/index.ts";
import { textMessage } from "../../../src/contract/message.ts";
import { TokenPrefix } from "../../../src/contract/token-prefix.ts";
import { createByteRenderer } from "../../../src/core/tokens/byte-renderer.ts";
import { ask, type PlainMessage, protocols } from "./plain-client.ts";
import { randomBytesPolicy } from "./random-sampler.ts";

/** What a client does next: it continues an earlier answer (or none), perhaps after it altered the text. */
interface Step {
  /** The number of the earlier answer, modulo their number and one. */
  readonly from: number;
  readonly altered: boolean;
  readonly text: string;
  readonly protocol: (typeof protocols)[number];
}

const step: fc.Arbitrary<Step> = fc.record({
  from: fc.nat(99),
  altered: fc.boolean(),
  text: fc.string({ minLength: 1, maxLength: 6, unit: "binary" }),
  protocol: fc.constantFrom(...protocols),
});

const renderer = createByteRenderer();

test("each call of a random tree extends the longest known conversation, and no sampled id is encoded again", async () => {
  await using server = await captureServer();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), fc.nat(), async (steps, seed) => {
      const { policy, prompts } = randomBytesPolicy();
      await using session = server.open({ policy, seed });
      /** The oracle: each known conversation with the ids that the model read and sampled. */
      const known: { key: string; index: number; ids: readonly number[]; count: number }[] = [];
      const conversations: PlainMessage[][] = [];
      for (const [index, { from, altered, text, protocol }] of steps.entries()) {
        const base = conversations[from % (index + 1)] ?? [{ role: "system", text: "s" }];
        const start = altered && base.at(-1)!.role === "assistant" ? alter(base) : base;
        const messages: PlainMessage[] = [...start, { role: "user", text }];
        const { status, text: answer } = await ask({ url: server.url, key: session.id, protocol, messages });
        expect(status).toBe(200);
        const parent = longest(known, messages);
        const expected = expectedPrompt(messages, parent);
        const call = session.calls()[index]!;
        expect(call.promptIds).toEqual(expected);
        expect(prompts.at(-1)).toEqual(expected);
        expect(call.continues).toBe(parent?.index);
        expect(call.tokens!.extendsPrevious).toBe(parent !== undefined);
        const conversation: PlainMessage[] = [...messages, { role: "assistant", text: answer }];
        conversations.push(conversation);
        const ids = [...expected, ...call.tokens!.completionIds];
        known.push({ key: JSON.stringify(conversation), index, ids, count: conversation.length });
      }
    }),
    { numRuns: 60 },
  );
});

function alter(conversation: readonly PlainMessage[]): PlainMessage[] {
  const last = conversation.at(-1)!;
  return [...conversation.slice(0, -1), { ...last, text: `${last.text}!` }];
}

function longest<Known extends { key: string; count: number }>(
  known: readonly Known[],
  messages: readonly PlainMessage[],
): Known | undefined {
  const matching = known.filter(({ key, count }) => key === JSON.stringify(messages.slice(0, count)));
  return matching.reduce<Known | undefined>(
    (best, next) => (best === undefined || next.count >= best.count ? next : best),
    undefined,
  );
}

function expectedPrompt(
  messages: readonly PlainMessage[],
  parent: { readonly ids: readonly number[]; readonly count: number } | undefined,
): readonly number[] {
  const plain = messages.map(({ role, text }) => textMessage(role, text));
  if (parent === undefined) return renderer.start({ messages: plain });
  const ids = TokenPrefix.empty.append(parent.ids.slice(0, 1)).append(parent.ids.slice(1));
  return [...parent.ids, ...(renderer.extend({ ids, messages: plain, messageCount: parent.count }) as number[])];
}

test("parallel sessions with parallel calls do not see each other", async () => {
  await using server = await captureServer();
  const { policy } = randomBytesPolicy();
  const sessions = Array.from({ length: 8 }, (_, seed) => server.open({ policy, seed }));
  await Promise.all(
    sessions.flatMap((session, place) =>
      Array.from({ length: 6 }, async (_, branch) => {
        const protocol = protocols[branch % protocols.length]!;
        // All sessions and all branches share their first message.
        let messages: PlainMessage[] = [{ role: "user", text: "same" }];
        for (let turn = 0; turn < 3; turn++) {
          const { text } = await ask({ url: server.url, key: session.id, protocol, messages });
          messages = [...messages, { role: "assistant", text }, { role: "user", text: `${place}/${branch}/${turn}` }];
        }
      }),
    ),
  );
  for (const [place, session] of sessions.entries()) {
    const calls = session.calls();
    expect(calls).toHaveLength(18);
    for (const [index, { messages, continues, promptIds }] of calls.entries()) {
      const asked = messages.at(-1)!.content.map((part) => (part.type === "text" ? part.text : ""))[0]!;
      expect(asked === "same" || asked.startsWith(`${place}/`)).toBe(true);
      expect(continues === undefined).toBe(asked === "same");
      if (continues === undefined) continue;
      expect(continues).toBeLessThan(index);
      const before = calls[continues]!;
      const ids = [...before.promptIds!, ...before.tokens!.completionIds];
      expect(promptIds!.slice(0, ids.length)).toEqual(ids);
    }
  }
});
