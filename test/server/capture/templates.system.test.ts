import { beforeAll, expect, test } from "vitest";
import { type CapturedCall, captureServer } from "../../../server/capture/index.ts";
import type { Policy } from "../../../src/contract/policy.ts";
import type { Sampler } from "../../../src/contract/sampler.ts";
import { samplerPolicy } from "../../../src/core/policy/sampler-policy.ts";
import { createChatTemplateRenderer } from "../../../src/core/tokens/chat-template-renderer.ts";
import { loadTokenizer } from "../../../src/core/tokens/huggingface-tokenizer.ts";
import type { Tokenizer } from "../../../src/core/tokens/tokenizer.ts";
import { dropsThinking } from "../../core/tokens/chat-templates.ts";
import { byteLevelBpe, temporaryFolder } from "../../core/tokens/model-folder.ts";

let tokenizer: Tokenizer;
beforeAll(async () => {
  await using folder = await temporaryFolder({
    "tokenizer.json": byteLevelBpe({
      merges: [
        ["t", "h"],
        ["th", "i"],
      ],
      specialTokens: ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
      plainAddedTokens: ["<tool_call>"],
    }),
    "tokenizer_config.json": { eos_token: "<|endoftext|>" },
  });
  tokenizer = await loadTokenizer(folder.path);
});

/** A model that answers with these texts, one character for each token. The tokenizer would join some of them. */
function spelling(texts: readonly string[]): Policy {
  let turn = 0;
  const sampler: Sampler = {
    specificationVersion: "v1",
    version: 1,
    sample: async function* (requests) {
      for (const request of requests.keys()) {
        const characters = texts[turn++]!.split(/(<tool_call>)|/).filter(Boolean);
        const ids = [...characters.map((text) => tokenizer.tokenId(text)!), tokenizer.tokenId("<|im_end|>")!];
        yield { request, ids, logprobs: ids.map(() => -1), finish: "stop" };
      }
    },
    close: async () => {},
  };
  return samplerPolicy({
    name: "spelling",
    sampler: () => sampler,
    renderer: createChatTemplateRenderer({ tokenizer, template: dropsThinking }),
  });
}

type ChatMessage = Record<string, unknown>;

/** Plays a conversation over the chat protocol. `next` returns what the client sends after an answer. */
async function play(
  texts: readonly string[],
  next: (answer: ChatMessage) => readonly ChatMessage[],
): Promise<readonly CapturedCall[]> {
  await using server = await captureServer();
  await using session = server.open({ policy: spelling(texts) });
  let messages: ChatMessage[] = [{ role: "user", content: "hi" }];
  const tools = [{ type: "function", function: { name: "add", parameters: { type: "object", properties: {} } } }];
  for (const _ of texts) {
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${session.id}` },
      body: JSON.stringify({ messages, tools }),
    });
    const { choices } = (await response.json()) as { choices: [{ message: ChatMessage }] };
    messages = [...messages, ...next(choices[0].message)];
  }
  return session.calls();
}

const endOf = ({ promptIds, tokens }: CapturedCall): readonly number[] => [...promptIds!, ...tokens!.completionIds];
const call = (json: string): string => `<tool_call>\n${json}\n</tool_call>`;
const question = { role: "user", content: "on" };

test("sampled ids stay as they are, though their text encodes to others", async () => {
  const [one, two] = await play(["this", "that"], (answer) => [answer, question]);
  const sampled = one!.tokens!.completionIds;
  expect(sampled).toHaveLength(5);
  expect(tokenizer.encode("this").length).toBeLessThan(4);
  expect(two!.promptIds!.slice(0, endOf(one!).length)).toEqual(endOf(one!));
  expect(two).toMatchObject({ continues: 0, tokens: { extendsPrevious: true } });
  expect(two!.rerendered).toBeUndefined();
});

test("a tool loop keeps its reasoning, and calls with equal ids of a model get different ones", async () => {
  const texts = [
    `<think>\na\n</think>\n\n${call('{"name": "add", "arguments": {}}')}`,
    call('{"name": "add"}'),
    "done",
  ];
  const ids: unknown[] = [];
  const calls = await play(texts, (answer) => {
    const [made] = (answer.tool_calls ?? []) as { id: string }[];
    ids.push(made?.id);
    return [answer, { role: "tool", tool_call_id: made?.id, content: "3" }];
  });
  expect(ids).toEqual(["call00000", "call00001", undefined]);
  expect(calls.map(({ continues, rerendered }) => [continues, rerendered])).toEqual([
    [undefined, undefined],
    [0, undefined],
    [1, undefined],
  ]);
  expect(calls[2]!.promptIds!.slice(0, endOf(calls[1]!).length)).toEqual(endOf(calls[1]!));
});

test("a call says so if the template drops the reasoning of earlier turns, and begins a sequence", async () => {
  const [one, two] = await play(["<think>\na\n</think>\n\nthis", "that"], (answer) => [answer, question]);
  expect(two).toMatchObject({ continues: 0, rerendered: true, tokens: { extendsPrevious: false } });
  expect(tokenizer.decode(two!.promptIds!)).not.toContain("think");
  expect(tokenizer.decode(one!.tokens!.completionIds)).toContain("think");
});

test("a client that drops the reasoning begins a new conversation", async () => {
  const [, two] = await play(["<think>\na\n</think>\n\nthis", "that"], (answer) => [
    { role: "assistant", content: answer.content },
    question,
  ]);
  expect(two!.continues).toBeUndefined();
  expect(two!.rerendered).toBeUndefined();
});
