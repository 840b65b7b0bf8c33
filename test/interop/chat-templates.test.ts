import { describe, expect, inject, test } from "vitest";
import { loadTokenizer } from "../../src/tokens/huggingface-tokenizer.ts";
import { loadRenderer } from "../../src/tokens/load-renderer.ts";
import type { Renderer } from "../../src/tokens/renderer.ts";
import { type ConversationFeatures, makeConversations, toTransformers } from "./conversations.ts";
import { runPython } from "./python.ts";

const { environment, tokenizers, smollm2, quick } = inject("interop");

interface Rendered {
  readonly text: string;
  readonly ids: readonly number[];
  readonly error?: string;
}

/** Each template with a tokenizer of its kind; `metaspace` shares the template of `sentencepiece`. */
const templates: readonly { name: string; folder: string; features: ConversationFeatures }[] = [
  { name: "chatml", folder: tokenizers.smollm!, features: { reasoning: false, tools: false } },
  { name: "headers", folder: tokenizers.llama3!, features: { reasoning: false, tools: true } },
  { name: "thinking", folder: tokenizers.qwen!, features: { reasoning: true, tools: true } },
  { name: "instructions", folder: tokenizers.sentencepiece!, features: { reasoning: false, tools: false } },
  { name: "smollm2-135m-instruct", folder: smollm2, features: { reasoning: false, tools: false } },
];

describe.each(templates)("the $name template", ({ folder, features }) => {
  test("renders prompts to the ids that transformers gives", async ({ signal }) => {
    const tokenizer = await loadTokenizer(folder);
    const renderer: Renderer = await loadRenderer(folder, { tokenizer });
    const conversations = makeConversations({ count: quick ? 60 : 400, seed: 3, features });
    const { chats } = await runPython<{ chats: readonly Rendered[] }>({
      environment,
      script: "render_chats",
      request: {
        tokenizer: folder,
        chats: conversations.map((conversation) => ({ ...toTransformers(conversation), addGenerationPrompt: true })),
      },
      signal,
    });
    const disagreements: string[] = [];
    for (const [index, conversation] of conversations.entries()) {
      const { ids: expected, text, error } = chats[index]!;
      expect(error).toBeUndefined();
      const actual = renderer.start(conversation);
      if (actual.join() !== expected.join()) {
        disagreements.push(JSON.stringify({ messages: conversation.messages, actual: tokenizer.decode(actual), text }));
      }
    }
    expect({ count: disagreements.length, first: disagreements.slice(0, 3) }).toEqual({ count: 0, first: [] });
  });
});
