import { byteTokenizerFiles, createByteTokenizer } from "../../../src/core/tokens/byte-tokenizer.ts";
import { loadTokenizer } from "../../../src/core/tokens/huggingface-tokenizer.ts";
import { isAdditionalTemplate, type NamedTemplates, templateFiles } from "../../../src/core/tokens/template-files.ts";
import type { Tokenizer } from "../../../src/core/tokens/tokenizer.ts";
import { readTokenizerFiles } from "../../model-folders/model-folder.ts";

/** The source of a model's tokenizer. Undefined for the byte tokenizer. */
export type TokenizerSource =
  | {
      /** The folder of the model or of an adapter. */
      readonly folder: string;
      /** Chat templates that replace the folder's own. */
      readonly chatTemplates?: NamedTemplates;
    }
  | undefined;

/** Loads the tokenizer of a source. */
export async function openTokenizer(source: TokenizerSource): Promise<Tokenizer> {
  return source === undefined ? createByteTokenizer() : loadTokenizer(source.folder);
}

/** Returns the tokenizer files of an export, by name. */
export async function tokenizerFilesOf(
  source: TokenizerSource,
): Promise<ReturnType<typeof byteTokenizerFiles> | Readonly<Record<string, string>>> {
  if (source === undefined) return byteTokenizerFiles();
  const files = await readTokenizerFiles(source.folder);
  if (source.chatTemplates === undefined) return files;
  const others = Object.entries(files).filter(([name]) => !isAdditionalTemplate(name));
  return { ...Object.fromEntries(others), ...templateFiles(source.chatTemplates) };
}
