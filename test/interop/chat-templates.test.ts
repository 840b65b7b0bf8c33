import { beforeAll, describe, expect, inject, test } from "vitest";
import { loadRenderer } from "../../src/tokens/load-renderer.ts";
import { type ConversationFeatures, makeConversations, toTransformers } from "./conversations.ts";
import { runPython } from "./python.ts";

const { environment, tokenizers, smollm2, quick } = inject("interop");

type Rendered = { readonly text: string; readonly ids: readonly number[] } | { readonly error: string };

/** Each template with a tokenizer of its kind. */
const templates: readonly { name: string; folder: string; features: ConversationFeatures }[] = [
  { name: "chatml", folder: tokenizers.smollm!, features: { reasoning: false, tools: false } },
  { name: "headers", folder: tokenizers.llama3!, features: { reasoning: false, tools: true } },
  { name: "thinking", folder: tokenizers.qwen!, features: { reasoning: true, tools: true } },
  { name: "instructions", folder: tokenizers.sentencepiece!, features: { reasoning: false, tools: false } },
  { name: "smollm2-135m-instruct", folder: smollm2, features: { reasoning: false, tools: false } },
];
const conversations = templates.map(({ features }) =>
  makeConversations({ count: quick ? 60 : 400, seed: 3, features }),
);

let theirs: readonly (readonly Rendered[])[];

beforeAll(async () => {
  const jobs = templates.map(({ folder }, index) => ({
    tokenizer: folder,
    chats: conversations[index]!.map(toTransformers),
  }));
  const response = await runPython<{ jobs: Rendered[][] }>({ environment, script: "render_chats", request: { jobs } });
  theirs = response.jobs;
});

describe.each(templates.map((template, index) => ({ ...template, index })))("the $name template", (template) => {
  test("renders prompts to the ids that transformers gives", async () => {
    const renderer = await loadRenderer(template.folder);
    const disagreements: string[] = [];
    for (const [index, conversation] of conversations[template.index]!.entries()) {
      const expected = theirs[template.index]![index]!;
      if ("error" in expected) throw new Error(`transformers cannot render a conversation: ${expected.error}`);
      const actual = renderer.start(conversation);
      if (actual.join() !== expected.ids.join()) {
        disagreements.push(JSON.stringify({ messages: conversation.messages, actual, expected }));
      }
    }
    expect({ count: disagreements.length, first: disagreements.slice(0, 3) }).toEqual({ count: 0, first: [] });
  });
});
