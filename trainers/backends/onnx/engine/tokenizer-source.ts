import { byteTokenizerFiles, createByteTokenizer } from "../../../../src/core/tokens/byte-tokenizer.ts";
import { loadTokenizer } from "../../../../src/core/tokens/huggingface-tokenizer.ts";
import type { Tokenizer } from "../../../../src/core/tokens/tokenizer.ts";
import { readTokenizerFiles } from "../model-folder.ts";

/** Where the tokenizer of a model is from; undefined for bytes. */
export type TokenizerSource =
  | {
      /** The model's folder, or that of an adapter on it. */
      readonly folder: string;
      /** The text of a template in place of the folder's own. */
      readonly chatTemplate?: string;
    }
  | undefined;

/** The tokenizer of a source. */
export async function openTokenizer(source: TokenizerSource): Promise<Tokenizer> {
  return source === undefined ? createByteTokenizer() : loadTokenizer(source.folder);
}

/** The files that an export of the model takes along, by name. */
export async function tokenizerFilesOf(
  source: TokenizerSource,
): Promise<ReturnType<typeof byteTokenizerFiles> | Readonly<Record<string, string>>> {
  if (source === undefined) return byteTokenizerFiles();
  const files = await readTokenizerFiles(source.folder);
  return source.chatTemplate === undefined ? files : { ...files, "chat_template.jinja": source.chatTemplate };
}
