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

const additional = (name: string, template = dropsThinking) => ({
  [`additional_chat_templates/${name}.jinja`]: template,
});
const both = { "chat_template.jinja": chatMl, ...additional("tool_use") };
const toolConfig = { chat_template: named };
const ownConfig = { "tokenizer_config.json": { chat_template: chatMl } };

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

  // The expected choice is that of transformers' get_chat_template.
  it.each([
    ["additional_chat_templates", { "chat_template.jinja": chatMl, ...additional("tool_use") }, "# Tools"],
    ["a default among them", { "chat_template.jinja": "wrong", ...additional("default", chatMl) }, "user"],
    ["other names", { "chat_template.jinja": chatMl, ...additional("rag") }, "user"],
    ["files before the config", { ...both, "tokenizer_config.json": { chat_template: "wrong" } }, "# Tools"],
    ["a file before named ones", { "chat_template.jinja": chatMl, "tokenizer_config.json": toolConfig }, "user"],
    ["other kinds of files", { "chat_template.jinja": chatMl, "additional_chat_templates/tool_use.txt": "x" }, "user"],
  ])("chooses among the templates of a folder as transformers does: %s", async (_, files, withTools) => {
    await using folder = await temporaryFolder({ "tokenizer.json": tokenizerJson, ...files });
    const renderer = await loadRenderer(folder.path);
    const tokenizer = await loadTokenizer(folder.path);
    expect(tokenizer.decode(renderer.start({ messages }))).toBe(prompt);
    if (withTools === "user") expect(() => renderer.start({ messages, tools })).toThrow(/does not list tools/);
    else expect(tokenizer.decode(renderer.start({ messages, tools }))).toContain(withTools);
  });

  it("reads a tool_use template that fails without tools, and calls in its form", async () => {
    const toolUse =
      "{{ tools[0].function.name }}{% for message in messages %}<{{ message.role }}>{{ message.content }}{% for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}<|im_end|>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
    await using folder = await temporaryFolder({
      "tokenizer.json": tokenizerJson,
      "chat_template.jinja": chatMl,
      ...additional("tool_use", toolUse),
    });
    const renderer = await loadRenderer(folder.path);
    const tokenizer = await loadTokenizer(folder.path);
    expect(tokenizer.decode(renderer.start({ messages, tools }))).toBe("add<user>1+1?<|im_end|><assistant>");
    const toolCalls = [{ id: "a", name: "add", arguments: { a: 1 } }];
    const ids = renderer.complete({ role: "assistant", content: [], toolCalls });
    const call = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call><|im_end|>';
    expect(tokenizer.decode(ids)).toBe(call);
    expect(renderer.parse({ ids, finish: "stop", tools }).message.toolCalls).toMatchObject([{ name: "add" }]);
  });

  it.each([
    ["no default", { ...additional("tool_use") }, /no chat template is named "default"/],
    [
      "no default, with one in the config",
      { ...additional("rag"), ...ownConfig },
      /no chat template is named "default"/,
    ],
    [
      "a path as a name",
      { "tokenizer_config.json": { chat_template: { default: "a", "../b": "c" } } },
      /name "\.\.\/b"/,
    ],
    [
      "a number as a template",
      { "tokenizer_config.json": { chat_template: { default: "a", b: 1 } } },
      /"b" is not a text/,
    ],
    ["a number", { "tokenizer_config.json": { chat_template: 5 } }, /no chat template is named "default"/],
  ])("refuses templates with %s", async (_, files, message) => {
    await using folder = await temporaryFolder({ "tokenizer.json": tokenizerJson, ...files });
    await expect(loadRenderer(folder.path)).rejects.toMatchObject({
      code: "model.malformed",
      message: expect.stringMatching(message),
    });
  });

  it("defines special tokens for a template only if the tokenizer has them", async () => {
    const template =
      "{{ bos_token is defined }} {{ eos_token is defined }} {{ eos_token }}{{ pad_token }}{{ messages[0].content }}";
    const files = { "tokenizer.json": tokenizerJson, "chat_template.jinja": template };
    const config = { "tokenizer_config.json": { eos_token: "<|im_end|>", bos_token: null } };
    await using folder = await temporaryFolder({ ...files, ...config });
    const ids = (await loadRenderer(folder.path)).start({ messages });
    expect((await loadTokenizer(folder.path)).decode(ids)).toBe("False True <|im_end|>1+1?");
  });

  it.each([
    ["config.json", { "config.json": { eos_token_id: 256 } }, [256, 258]],
    ["text_config", { "config.json": { text_config: { eos_token_id: [256, 257] } } }, [256, 257, 258]],
    [
      "text_config, with null at the top",
      { "config.json": { eos_token_id: null, text_config: { eos_token_id: 256 } } },
      [256, 258],
    ],
    [
      "text_config, which the top replaces",
      { "config.json": { eos_token_id: 257, text_config: { eos_token_id: 256 } } },
      [257, 258],
    ],
    ["text_config that is a list", { "config.json": { text_config: [{ eos_token_id: 256 }] } }, [258]],
    ["a list in config.json", { "config.json": { eos_token_id: [256, 257] } }, [256, 257, 258]],
    [
      "not config.json beside generation_config.json",
      { "config.json": { eos_token_id: 256 }, "generation_config.json": {} },
      [258],
    ],
  ])("reads the end-of-turn ids of %s", async (_, files, expected) => {
    const named = { "tokenizer.json": tokenizerJson, "chat_template.jinja": chatMl };
    await using folder = await temporaryFolder({ ...named, ...files });
    expect([...(await loadRenderer(folder.path)).stopTokenIds].toSorted()).toEqual(expected);
    // An adapter's folder has no such file: its base has.
    await using adapter = await temporaryFolder(named);
    const { stopTokenIds } = await loadRenderer(adapter.path, { modelFolder: folder.path });
    expect([...stopTokenIds].toSorted()).toEqual(expected);
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
