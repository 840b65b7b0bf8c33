import path from "node:path";
import { LyceumError } from "../../contract/errors/lyceum-error.ts";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { createChatTemplateRenderer } from "./chat-template-renderer.ts";
import { loadTokenizer } from "./huggingface-tokenizer.ts";
import { readModelJson } from "./model-file.ts";
import type { Renderer } from "./renderer.ts";
import { type NamedTemplates, readTemplates } from "./template-files.ts";
import type { Tokenizer } from "./tokenizer.ts";

/**
 * Loads the renderer of a Hugging Face folder: its chat templates (from `chat_template.jinja` and
 * `additional_chat_templates`, `tokenizer_config.json` or `chat_template.json`, in this order), its tokenizer, and the
 * end-of-turn ids of `generation_config.json`, or of `config.json` if that file does not exist. A template named
 * `tool_use` renders conversations with tools. Throws `model.template` if the folder has no template.
 */
export async function loadRenderer(
  folder: string,
  options: {
    readonly tokenizer?: Tokenizer;
    readonly variables?: Readonly<Record<string, unknown>>;
    /** Templates that replace the folder's own: one, or several by name as in the folder. */
    readonly template?: string | NamedTemplates;
    /** The folder with the end-of-turn ids, for an adapter that of its base. Default: `folder`. */
    readonly modelFolder?: string;
  } = {},
): Promise<Renderer> {
  const tokenizer = options.tokenizer ?? (await loadTokenizer(folder));
  const template = options.template ?? (await readTemplates(folder));
  if (template === undefined) {
    throw new LyceumError({
      code: "model.template",
      message: `The tokenizer in ${folder} has no chat template.`,
      hint: "Use an instruction-tuned model, or save a template in the folder as chat_template.jinja. Or set model.chatTemplate (in a policy file: chatTemplate) to a Jinja file, or to none, so that prompts are the plain texts of the messages. lyceum eval has --format completion for benchmarks.",
      data: { folder },
    });
  }
  return createChatTemplateRenderer({
    tokenizer,
    template: typeof template === "string" ? template : { default: template.default, ...toolTemplate(template) },
    name: path.basename(path.resolve(folder)),
    stopTokenIds: await eosTokenIds(options.modelFolder ?? folder),
    variables: options.variables,
  });
}

function toolTemplate({ tool_use: toolUse }: NamedTemplates): { readonly toolUse?: string } {
  return toolUse === undefined ? {} : { toolUse };
}

/**
 * Like `transformers`, reads `config.json` only if `generation_config.json` does not exist, and there its `text_config` if
 * the ids are not at the top, as in models of text and images.
 */
async function eosTokenIds(folder: string): Promise<readonly number[]> {
  const generation = await readModelJson(folder, "generation_config.json");
  const config: JsonObject = generation ?? (await readModelJson(folder, "config.json")) ?? {};
  const nested = generation === undefined && isJsonObject(config.text_config) ? config.text_config : {};
  const value = config.eos_token_id ?? nested.eos_token_id;
  return (Array.isArray(value) ? value : [value]).filter((id): id is number => Number.isInteger(id));
}
