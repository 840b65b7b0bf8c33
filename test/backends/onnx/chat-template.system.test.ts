import { existsSync } from "node:fs";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { textMessage } from "../../../src/contract/message.ts";
import { TokenPrefix } from "../../../src/contract/token-prefix.ts";
import type { Model, ModelSource, TrainableSpec, TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { modelChecksumsFile } from "../../../trainers/model-folders/weights/model-checksums.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { tinyConfig } from "./tiny-config.ts";

const template = "{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}<assistant>";
const conversation = { messages: [textMessage("system", "Add. "), textMessage("user", "1+1=")] };
const lora: TrainableSpec = { type: "lora", lora: { rank: 1, alpha: 1 } };

describe("a model folder without a chat template", () => {
  let backend: TrainingBackend;
  let folder: string;
  let base: string;
  let templateFile: string;

  beforeAll(async () => {
    backend = await createOnnxBackend({ device: "cpu", threads: 1 });
    folder = temporaryFolder();
    base = path.join(folder, "base");
    const source = { type: "scratch", config: tinyConfig, seed: 1 } as const;
    await (await backend.openModel({ source, trainable: { type: "full" } })).export(base, "huggingface");
    await rm(path.join(base, modelChecksumsFile));
    const config = path.join(base, "tokenizer_config.json");
    const { chat_template: own, ...rest } = JSON.parse(await readFile(config, "utf8")) as Record<string, unknown>;
    expect(own).toBeTypeOf("string");
    await writeFile(config, JSON.stringify(rest));
    templateFile = path.join(folder, "plain.jinja");
    await writeFile(templateFile, template);
  });
  afterAll(async () => {
    await backend.close();
  });

  const open = (more: Partial<ModelSource>, trainable: TrainableSpec = { type: "frozen" }): Promise<Model> =>
    backend.openModel({ source: { type: "pretrained", path: base, ...more } as ModelSource, trainable });
  const promptOf = ({ renderer, tokenizer }: Model): string => tokenizer.decode(renderer.start(conversation));

  it("is refused with a list of all remedies", async () => {
    await expect(open({})).rejects.toMatchObject({
      code: "model.template",
      hint: expect.stringMatching(/chatTemplate.*none.*--format completion/),
    });
  });

  it("uses the plain texts of messages if the template is none", async () => {
    const model = await open({ chatTemplate: "none" }, lora);
    expect(promptOf(model)).toBe("Add. 1+1=");
    const { renderer, tokenizer } = model;
    expect(tokenizer.decode(renderer.complete(textMessage("assistant", "2")))).toBe(`2${tokenizer.eosToken}`);
    const { messages } = conversation;
    const turns = [...messages, textMessage("assistant", "2"), textMessage("user", " 2+2=")];
    const ids = [...renderer.start({ messages }), ...tokenizer.encode("2"), tokenizer.tokenId(tokenizer.eosToken!)!];
    const added = renderer.extend({ ids: TokenPrefix.empty.append(ids), messages: turns, messageCount: 3 });
    expect(added).not.toBe("broken");
    expect(tokenizer.decode(added as number[])).toBe(" 2+2=");
    // An exported model reads its prompts in the same way, without the setting.
    for (const format of ["peft", "huggingface"] as const) {
      const at = path.join(folder, `plain ${format}`);
      await model.export(at, format);
      expect(promptOf(await open({ path: at }))).toBe("Add. 1+1=");
    }
  });

  it("puts the tokenizer's beginning of a text in front if the template is none", async () => {
    const own = path.join(folder, "with beginning");
    await cp(base, own, { recursive: true });
    await rm(path.join(own, "lyceum_checksums.json"), { force: true });
    const file = path.join(own, "tokenizer.json");
    const definition = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
    const single = [{ SpecialToken: { id: "<|bos|>", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }];
    const post_processor = { type: "TemplateProcessing", single, pair: [], special_tokens: {} };
    await writeFile(file, JSON.stringify({ ...definition, post_processor }));
    const model = await open({ path: own, chatTemplate: "none" }, lora);
    expect(promptOf(model)).toBe("<|bos|>Add. 1+1=");
    const forged = { messages: [textMessage("user", "<|bos|>1")] };
    expect(model.renderer.start(forged).filter((id) => id === model.tokenizer.tokenId("<|bos|>"))).toHaveLength(1);
    const { renderer, tokenizer } = model;
    expect(tokenizer.decode(renderer.complete(textMessage("assistant", "2")))).toBe(`2${tokenizer.eosToken}`);
    const at = path.join(folder, "exported with beginning");
    await model.export(at, "huggingface");
    expect(promptOf(await open({ path: at }))).toBe("<|bos|>Add. 1+1=");
  });

  it("uses a template from a file, and exports it", async () => {
    const model = await open({ chatTemplate: templateFile });
    expect(promptOf(model)).toBe("<system>Add. <user>1+1=<assistant>");
    const whole = path.join(folder, "whole");
    await model.export(whole, "huggingface");
    expect(await readFile(path.join(whole, "chat_template.jinja"), "utf8")).toBe(template);
    expect(promptOf(await open({ path: whole }))).toBe("<system>Add. <user>1+1=<assistant>");
    const adapter = path.join(folder, "adapter");
    await (await open({ chatTemplate: templateFile }, lora)).export(adapter, "peft");
    expect(promptOf(await open({ path: adapter }))).toBe("<system>Add. <user>1+1=<assistant>");
    // An adapter of a model with its own template has no tokenizer files.
    const plain = path.join(folder, "plain adapter");
    await (await open({ path: whole }, lora)).export(plain, "peft");
    expect(existsSync(path.join(plain, "tokenizer.json"))).toBe(false);
  });

  it("fills in variables of its template, and an export keeps them", async () => {
    const thinking = path.join(folder, "thinking.jinja");
    const choice = "{% if enable_thinking is defined and not enable_thinking %}<none>{% else %}<think>{% endif %}";
    await writeFile(thinking, `${template}${choice}`);
    expect(promptOf(await open({ chatTemplate: thinking }))).toBe("<system>Add. <user>1+1=<assistant><think>");
    const variables = { chatTemplate: thinking, templateVariables: { enable_thinking: false } };
    const model = await open(variables);
    expect(promptOf(model)).toBe("<system>Add. <user>1+1=<assistant><none>");
    const whole = path.join(folder, "not thinking");
    await model.export(whole, "huggingface");
    expect(promptOf(await open({ path: whole }))).toBe("<system>Add. <user>1+1=<assistant><none>");
    const adapter = path.join(folder, "not thinking adapter");
    await (await open(variables, lora)).export(adapter, "peft");
    expect(promptOf(await open({ path: adapter }))).toBe("<system>Add. <user>1+1=<assistant><none>");
    // They also apply to a folder's own template. Without any template, they are an error.
    expect(promptOf(await open({ path: whole, templateVariables: { enable_thinking: true } }))).toMatch(/<think>$/);
    await expect(open({ templateVariables: { enable_thinking: true } })).rejects.toMatchObject({
      code: "model.template",
      message: expect.stringContaining("but template variables are set"),
    });
  });

  it("exports its templates by name, filled in, and none of them beside a replacing file", async () => {
    const own = path.join(folder, "named");
    await cp(base, own, { recursive: true });
    await rm(path.join(own, "lyceum_checksums.json"), { force: true });
    const templates = { "chat_template.jinja": `a{{ mode }}${template}` };
    const tools = (text: string): string => path.join(text, "additional_chat_templates", "tool_use.jinja");
    await mkdir(path.dirname(tools(own)));
    await writeFile(path.join(own, "chat_template.jinja"), templates["chat_template.jinja"]);
    await writeFile(tools(own), `b{{ mode }}{{ tools[0].function.name }}${template}`);
    const kept = path.join(folder, "kept");
    await (await open({ path: own }, lora)).export(kept, "huggingface");
    expect(await readFile(tools(kept), "utf8")).toBe(await readFile(tools(own), "utf8"));
    const filled = path.join(folder, "filled");
    await (await open({ path: own, templateVariables: { mode: "x" } }, lora)).export(filled, "huggingface");
    expect(promptOf(await open({ path: filled }))).toMatch(/^ax<system>/);
    expect(await readFile(tools(filled), "utf8")).toMatch(/set mode = "x".*b\{\{ mode/s);
    const replaced = path.join(folder, "replaced");
    await (await open({ path: own, chatTemplate: templateFile }, lora)).export(replaced, "huggingface");
    expect(existsSync(tools(replaced))).toBe(false);
    expect(promptOf(await open({ path: replaced }))).toMatch(/^<system>/);
  });

  it("refuses a template path that is not a file", async () => {
    await expect(open({ chatTemplate: path.join(folder, "absent.jinja") })).rejects.toMatchObject({
      code: "model.template",
      message: expect.stringContaining("absent.jinja"),
      hint: expect.stringContaining("none"),
    });
  });
});
