import { beforeAll, describe, expect, inject, test } from "vitest";
import { ControlTokens } from "../../src/core/tokens/control-tokens.ts";
import { loadTokenizer } from "../../src/core/tokens/huggingface-tokenizer.ts";
import { loadRenderer } from "../../src/core/tokens/load-renderer.ts";
import { readTemplates } from "../../src/core/tokens/template-files.ts";
import { type Conversation, type ConversationFeatures, makeConversations, toTransformers } from "./conversations.ts";
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

interface Case {
  readonly conversation: Conversation;
  /** True if a text has control tokens. */
  readonly isHostile: boolean;
  /** The rendering by transformers of the conversation without the control tokens in its texts. */
  readonly expected: Rendered;
}

interface TemplateCases {
  readonly cases: readonly Case[];
  /** The control tokens among ids, in order. */
  readonly controlsIn: (ids: readonly number[]) => number[];
}

let all: readonly TemplateCases[];

beforeAll(async () => {
  const loaded = await Promise.all(templates.map(({ folder }) => loadControlTokens(folder)));
  const jobs = templates.map(({ folder }, index) => ({
    tokenizer: folder,
    chats: conversations[index]!.map((conversation) =>
      toTransformers(mapTexts(conversation, loaded[index]!.withoutTokens)),
    ),
  }));
  const response = await runPython<{ jobs: Rendered[][] }>({ environment, script: "render_chats", request: { jobs } });
  all = loaded.map(({ controlsIn, withoutTokens }, index) => ({
    controlsIn,
    cases: conversations[index]!.map((conversation, i) => ({
      conversation,
      isHostile: JSON.stringify(conversation) !== JSON.stringify(mapTexts(conversation, withoutTokens)),
      expected: response.jobs[index]![i]!,
    })),
  }));
});

describe.each(templates.map((template, index) => ({ ...template, index })))("the $name template", (template) => {
  test("renders prompts to the ids of transformers", async () => {
    await expectNone(
      template,
      ({ isHostile }) => !isHostile,
      (ids) => ids,
    );
  });

  test("writes the control tokens of transformers if the texts have none", async () => {
    await expectNone(template, ({ isHostile }) => isHostile, all[template.index]!.controlsIn);
  });
});

/** Fails with the number of disagreements about some conversations, and the first few. */
async function expectNone(
  template: { readonly folder: string; readonly index: number },
  isChosen: (chosen: Case) => boolean,
  compared: (ids: readonly number[]) => readonly number[],
): Promise<void> {
  const renderer = await loadRenderer(template.folder);
  const chosen = all[template.index]!.cases.filter(isChosen);
  expect(chosen.length).toBeGreaterThan(0);
  const disagreements = chosen.flatMap(({ conversation, expected }) => {
    if ("error" in expected) throw new Error(`transformers cannot render a conversation: ${expected.error}`);
    const actual = renderer.start(conversation);
    if (compared(actual).join() === compared(expected.ids).join()) return [];
    return [JSON.stringify({ messages: conversation.messages, actual, expected })];
  });
  expect({ count: disagreements.length, first: disagreements.slice(0, 3) }).toEqual({ count: 0, first: [] });
}

async function loadControlTokens(folder: string) {
  const tokenizer = await loadTokenizer(folder);
  const templates = await readTemplates(folder);
  const { tokens } = new ControlTokens(tokenizer, [templates!.default]);
  const ids = new Set([...tokens].map((token) => tokenizer.tokenId(token)!));
  return {
    controlsIn: (list: readonly number[]) => list.filter((id) => ids.has(id)),
    withoutTokens: (text: string) => [...tokens].reduce((rest, token) => rest.replaceAll(token, "x"), text),
  };
}

function mapTexts(conversation: Conversation, change: (text: string) => string): Conversation {
  const messages = conversation.messages.map((message) => ({
    ...message,
    content: message.content.map((part) => (part.type === "image" ? part : { ...part, text: change(part.text) })),
  }));
  return { ...conversation, messages };
}
