import { describe, expect, it } from "vitest";
import { textMessage } from "../../../src/contract/message.ts";
import { loadTokenizer } from "../../../src/core/tokens/huggingface-tokenizer.ts";
import { loadRenderer } from "../../../src/core/tokens/load-renderer.ts";
import { chatMl, dropsThinking } from "./chat-templates.ts";
import { byteLevelBpe, temporaryFolder } from "./model-folder.ts";

const tokenizerJson = byteLevelBpe({ specialTokens: ["<|endoftext|>", "<|im_start|>", "<|im_end|>"] });
const messages = [textMessage("user", "1+1?")];
const tools = [{ name: "add", description: "Adds.", parameters: {} }];
const prompt = "<|im_start|>user\n1+1?<|im_end|>\n<|im_start|>assistant\n";
const named = [
  { name: "tool_use", template: dropsThinking },
  { name: "default", template: chatMl },
];

describe("loadRenderer", () => {
  it.each([
    ["chat_template.jinja", { "chat_template.jinja": chatMl, "tokenizer_config.json": { chat_template: "wrong" } }],
    ["tokenizer_config.json", { "tokenizer_config.json": { chat_template: chatMl } }],
    ["chat_template.json", { "tokenizer_config.json": {}, "chat_template.json": { chat_template: chatMl } }],
    ["a list of named templates", { "tokenizer_config.json": { chat_template: named } }],
    ["an object of named templates", { "tokenizer_config.json": { chat_template: { default: chatMl } } }],
  ])("reads the template from %s", async (_, files) => {
    await using folder = await temporaryFolder({ "tokenizer.json": tokenizerJson, ...files });
    const renderer = await loadRenderer(folder.path);
    expect((await loadTokenizer(folder.path)).decode(renderer.start({ messages }))).toBe(prompt);
  });

  it("uses the template named tool_use for conversations with tools", async () => {
    await using folder = await temporaryFolder({
      "tokenizer.json": tokenizerJson,
      "tokenizer_config.json": { chat_template: named },
    });
    const renderer = await loadRenderer(folder.path);
    expect((await loadTokenizer(folder.path)).decode(renderer.start({ messages, tools }))).toContain("# Tools");
  });

  it.each([
    ["one id", 256, [256, 258]],
    ["several", [256, 257], [256, 257, 258]],
    ["none", null, [258]],
  ])("adds the end-of-turn ids of generation_config.json: %s", async (_, eos, expected) => {
    await using folder = await temporaryFolder({
      "tokenizer.json": tokenizerJson,
      "chat_template.jinja": chatMl,
      "generation_config.json": { eos_token_id: eos },
    });
    expect([...(await loadRenderer(folder.path)).stopTokenIds].toSorted()).toEqual(expected);
  });

  it("gives a remedy if there is no template", async () => {
    await using folder = await temporaryFolder({ "tokenizer.json": tokenizerJson });
    await expect(loadRenderer(folder.path)).rejects.toMatchObject({
      code: "model.template",
      message: expect.stringContaining(folder.path),
      hint: expect.stringContaining("chat_template.jinja"),
    });
  });

  it("refuses named templates without a default", async () => {
    await using folder = await temporaryFolder({
      "tokenizer.json": tokenizerJson,
      "tokenizer_config.json": { chat_template: [{ name: "rag", template: chatMl }, "x"] },
    });
    await expect(loadRenderer(folder.path)).rejects.toMatchObject({
      code: "model.malformed",
      message: expect.stringContaining("default"),
    });
  });
});
