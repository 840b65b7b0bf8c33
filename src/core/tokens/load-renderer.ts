import path from "node:path";
import { LyceumError } from "../../contract/errors/lyceum-error.ts";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { createChatTemplateRenderer } from "./chat-template-renderer.ts";
import { loadTokenizer } from "./huggingface-tokenizer.ts";
import { malformedFile, readModelJson, readModelText } from "./model-file.ts";
import type { Renderer } from "./renderer.ts";
import type { Tokenizer } from "./tokenizer.ts";

/**
 * Loads the renderer of a Hugging Face folder: its chat template (from `chat_template.jinja`, `tokenizer_config.json`
 * or `chat_template.json`, in this order), its tokenizer, and the end-of-turn ids of `generation_config.json`. Throws
 * `model.template` if the folder has no template.
 */
export async function loadRenderer(
  folder: string,
  options: {
    readonly tokenizer?: Tokenizer;
    readonly variables?: Readonly<Record<string, unknown>>;
    /** A template that replaces the folder's own. */
    readonly template?: string;
  } = {},
): Promise<Renderer> {
  const tokenizer = options.tokenizer ?? (await loadTokenizer(folder));
  const template = options.template ?? (await readTemplate(folder));
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
    template,
    name: path.basename(path.resolve(folder)),
    stopTokenIds: eosTokenIds((await readModelJson(folder, "generation_config.json")) ?? {}),
    variables: options.variables,
  });
}

/**
 * Reads the chat template of a folder, with a second template for conversations with tools if there is one. Returns
 * undefined if the folder has no template.
 */
export async function readTemplate(
  folder: string,
): Promise<string | { default: string; toolUse?: string } | undefined> {
  const file = await readModelText(folder, "chat_template.jinja");
  if (file !== undefined) return file;
  for (const name of ["tokenizer_config.json", "chat_template.json"]) {
    const value = (await readModelJson(folder, name))?.chat_template ?? undefined;
    if (typeof value === "string") return value;
    if (value !== undefined) return namedTemplates(path.join(folder, name), value);
  }
  return undefined;
}

/** Reads several templates from `[{ name, template }]` or from an object by name. */
function namedTemplates(file: string, value: unknown): { default: string; toolUse?: string } {
  const entries = Array.isArray(value)
    ? value.map((entry: unknown) => (isJsonObject(entry) ? [entry.name, entry.template] : []))
    : Object.entries(value as JsonObject);
  const templates = Object.fromEntries(entries) as Readonly<Record<string, unknown>>;
  if (typeof templates.default !== "string")
    throw malformedFile({ file, reason: 'no chat template is named "default"' });
  return {
    default: templates.default,
    ...(typeof templates.tool_use === "string" ? { toolUse: templates.tool_use } : {}),
  };
}

function eosTokenIds(generationConfig: JsonObject): readonly number[] {
  const value = generationConfig.eos_token_id;
  return (Array.isArray(value) ? value : [value]).filter((id): id is number => Number.isInteger(id));
}
