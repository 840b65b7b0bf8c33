import { readdir } from "node:fs/promises";
import path from "node:path";
import { isJsonObject } from "../../contract/json.ts";
import { hasCode, malformedFile, readModelJson, readModelText } from "./model-file.ts";

/**
 * The chat templates of a model folder by name. `default` is always there. `tool_use` renders conversations with tools.
 */
export interface NamedTemplates extends Readonly<Record<string, string>> {
  readonly default: string;
}

const defaultFile = "chat_template.jinja";
const additionalFolder = "additional_chat_templates";

/** True for the path, with `/`, of a further template within a model folder. */
export function isAdditionalTemplate(file: string): boolean {
  return file.startsWith(`${additionalFolder}/`) && /^[^/\\]+\.jinja$/.test(file.slice(additionalFolder.length + 1));
}

/** Returns the sorted paths, with `/`, of the further templates within a model folder. */
export async function additionalTemplates(folder: string): Promise<string[]> {
  try {
    const names = await readdir(path.join(folder, additionalFolder));
    return names
      .map((name) => `${additionalFolder}/${name}`)
      .filter(isAdditionalTemplate)
      .toSorted();
  } catch (error) {
    if (hasCode(error, "ENOENT") || hasCode(error, "ENOTDIR")) return [];
    throw error;
  }
}

/**
 * Reads the chat templates of a folder as `transformers` does: from `chat_template.jinja` and
 * `additional_chat_templates/*.jinja`, or else from `tokenizer_config.json` or `chat_template.json`. Returns undefined
 * if there are none. Throws `model.malformed` if none is named `default`.
 */
export async function readTemplates(folder: string): Promise<NamedTemplates | undefined> {
  const entries: [name: string, template: unknown][] = [];
  const file = await readModelText(folder, defaultFile);
  if (file !== undefined) entries.push(["default", file]);
  for (const name of await additionalTemplates(folder)) {
    entries.push([path.posix.basename(name, ".jinja"), await readModelText(folder, name)]);
  }
  if (entries.length > 0) return named(path.join(folder, file === undefined ? additionalFolder : defaultFile), entries);
  for (const name of ["tokenizer_config.json", "chat_template.json"]) {
    const value = (await readModelJson(folder, name))?.chat_template ?? undefined;
    if (value !== undefined) return named(path.join(folder, name), configEntries(value));
  }
  return undefined;
}

/** Returns the files, by path, in which `transformers` saves these templates. */
export function templateFiles(templates: NamedTemplates): Record<string, string> {
  return Object.fromEntries(
    Object.entries(templates).map(([name, template]) => [
      name === "default" ? defaultFile : `${additionalFolder}/${name}.jinja`,
      template,
    ]),
  );
}

/** Reads one template, `[{ name, template }]`, or an object by name. */
function configEntries(value: unknown): [string, unknown][] {
  if (typeof value === "string") return [["default", value]];
  if (isJsonObject(value)) return Object.entries(value);
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.map((entry) => (isJsonObject(entry) ? [String(entry.name), entry.template] : [String(entry), undefined]));
}

function named(file: string, entries: readonly [string, unknown][]): NamedTemplates {
  const templates = Object.fromEntries(entries);
  if (typeof templates.default !== "string") {
    throw malformedFile({ file, reason: 'no chat template is named "default"' });
  }
  for (const [name, template] of entries) {
    if (typeof template !== "string")
      throw malformedFile({ file, reason: `the chat template "${name}" is not a text` });
    // Names become file names when the model is exported.
    if (!isAdditionalTemplate(`${additionalFolder}/${name}.jinja`)) {
      throw malformedFile({ file, reason: `a chat template has the name ${JSON.stringify(name)}` });
    }
  }
  return templates as NamedTemplates;
}
