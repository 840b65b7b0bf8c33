import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { invalidConfig, LyceumError } from "../../../src/contract/errors/index.ts";
import { createByteRenderer } from "../../../src/core/tokens/byte-renderer.ts";
import { createByteTokenizer } from "../../../src/core/tokens/byte-tokenizer.ts";
import { loadTokenizer } from "../../../src/core/tokens/huggingface-tokenizer.ts";
import { loadRenderer } from "../../../src/core/tokens/load-renderer.ts";
import type { Renderer } from "../../../src/core/tokens/renderer.ts";
import { type NamedTemplates, readTemplates } from "../../../src/core/tokens/template-files.ts";
import { withTemplateVariables } from "../../../src/core/tokens/template-variables.ts";
import type { Tokenizer } from "../../../src/core/tokens/tokenizer.ts";
import type { ModelSource, TemplateVariables } from "../../backend/training-backend.ts";
import { findBase } from "../../model-folders/find-base.ts";
import { findModel, type ModelFolderOptions } from "../../model-folders/model-folder.ts";
import type { TokenizerSource } from "./tokenizer-source.ts";

/** A model source whose files are on this machine. */
export type LocalSource =
  | {
      readonly type: "folder";
      readonly folder: string;
      /** The Hugging Face model that the folder was downloaded from. `revision` is the commit. */
      readonly hub?: { readonly id: string; readonly revision: string };
      /** The folder of a PEFT adapter for that model. */
      readonly adapter?: string;
    }
  | Extract<ModelSource, { readonly type: "scratch" }>;

/** A source with its files on this machine, its tokenizer and its renderer. */
export interface OpenedSource {
  readonly source: LocalSource;
  readonly tokenizerSource: TokenizerSource;
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
}

/**
 * Finds the files of a source (for an adapter also those of its base) and loads the tokenizer. Like transformers, it
 * prefers a tokenizer in the adapter's folder. Throws `model.missing`, `model.unsupported`, `model.template`, and
 * `config.invalid` if a base is given for a whole model. Without `weights`, a whole model needs no weights here.
 */
export async function openSource(
  source: ModelSource,
  signal: AbortSignal | undefined,
  { weights }: Pick<ModelFolderOptions, "weights"> = {},
): Promise<OpenedSource> {
  if (source.type === "scratch") {
    return { source, tokenizerSource: undefined, tokenizer: createByteTokenizer(), renderer: createByteRenderer() };
  }
  const { path: name, revision, base, chatTemplate, templateVariables } = source;
  const found = await findModel(name, { signal, revision, weights });
  if (found.kind === "model" && base !== undefined) throw noAdapter(name, base);
  const model = found.kind === "model" ? found : await findBase(found.folder, { signal, base });
  const adapter = found.kind === "adapter" ? found.folder : undefined;
  const ownTokenizer = adapter !== undefined && existsSync(path.join(adapter, "tokenizer.json"));
  const folder = ownTokenizer ? adapter : model.folder;
  const tokenizer = await loadTokenizer(folder);
  const given = chatTemplate === undefined ? undefined : { default: await readTemplateFile(chatTemplate, tokenizer) };
  const templates = templateVariables === undefined ? given : await templatesWith(templateVariables, { given, folder });
  return {
    source: { type: "folder", folder: model.folder, hub: model.hub, adapter },
    tokenizerSource: { folder, chatTemplates: templates },
    tokenizer,
    renderer: await loadRenderer(folder, { tokenizer, template: templates, modelFolder: model.folder }),
  };
}

/** The value of {@link ModelSource}'s `chatTemplate` for prompts without a template. */
const noTemplate = "none";

/**
 * Returns a template for models without one: the tokenizer's start tokens, then the messages, with an end of text after
 * each answer. An exported model contains it, so that it reads prompts in the same way.
 */
function plainTexts({ startIds = [], bosToken, decode }: Tokenizer): string {
  const start = decode(startIds);
  const written = start === "" ? "" : `{{ ${start === bosToken ? "bos_token" : JSON.stringify(start)} }}`;
  return `${written}${messageTexts}`;
}

const messageTexts =
  "{% for message in messages %}{{ message.content }}{% if message.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}";

/** Returns the templates of a model with their variables filled in. Throws `model.template` if the folder has none. */
async function templatesWith(
  variables: TemplateVariables,
  { given, folder }: { readonly given: NamedTemplates | undefined; readonly folder: string },
): Promise<NamedTemplates> {
  const templates = given ?? (await readTemplates(folder));
  if (templates !== undefined) {
    const filled = Object.entries(templates).map(([name, text]) => [name, withTemplateVariables(text, variables)]);
    return Object.fromEntries(filled) as NamedTemplates;
  }
  throw new LyceumError({
    code: "model.template",
    message: `The tokenizer in ${folder} has no chat template, but template variables are set.`,
    hint: "Set model.chatTemplate (chatTemplate in a policy file) to a Jinja file, or remove templateVariables.",
    data: { folder },
  });
}

async function readTemplateFile(file: string, tokenizer: Tokenizer): Promise<string> {
  if (file === noTemplate) return plainTexts(tokenizer);
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new LyceumError({
      code: "model.template",
      message: `The chat template ${file} cannot be read: ${(cause as Error).message}.`,
      hint: `Name a Jinja file as the chat template, or ${noTemplate} for prompts without one.`,
      data: { file },
      cause,
    });
  }
}

function noAdapter(name: string, base: string): LyceumError {
  return invalidConfig(
    `The base ${base} is set for ${name}, but ${name} is a whole model, not an adapter.`,
    "Remove the base, or name the folder of an adapter as the model.",
    { model: name, base },
  );
}
