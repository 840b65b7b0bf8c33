import { readdir, stat } from "node:fs/promises";
import path from "node:path";
import { LyceumError } from "../../src/contract/errors/lyceum-error.ts";
import { isLocalName, nearPath } from "../../src/core/files/missing-path.ts";
import { downloadHubFile, type HubOptions, listHubFiles, resolveHubRevision } from "../../src/core/hub/hub.ts";
import { malformedFile, readModelText } from "../../src/core/tokens/model-file.ts";
import { additionalTemplates, isAdditionalTemplate } from "../../src/core/tokens/template-files.ts";
import { isGguf } from "./gguf/gguf-file.ts";
import { ggufFolder } from "./gguf/gguf-folder.ts";
import { adapterBaseFile } from "./weights/adapter-base-file.ts";
import { checkModelFolder } from "./weights/model-checksums.ts";
import { weightFiles } from "./weights/safetensors.ts";

/** The files, besides weights and config.json, that a model needs for training, sampling and export. */
const tokenizerFileNames = [
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "added_tokens.json",
  "chat_template.jinja",
  "chat_template.json",
  "generation_config.json",
] as const;

const weightsIndex = "model.safetensors.index.json";
const singleWeights = "model.safetensors";
const adapterFiles = ["adapter_config.json", "adapter_model.safetensors"] as const;

/** All files that open a model, except for the shards of an index. */
const readFiles: ReadonlySet<string> = new Set([
  "config.json",
  singleWeights,
  weightsIndex,
  adapterBaseFile,
  ...adapterFiles,
  ...tokenizerFileNames,
]);

/** The options of {@link findModel}. */
export interface ModelFolderOptions extends HubOptions {
  /** The branch, tag or commit of a hub model. Default: `main`. */
  readonly revision?: string;
  /** False if the weights of a whole model are not needed. Default: true. */
  readonly weights?: boolean | undefined;
}

/** The files of a model on this machine. */
export interface LocalModel {
  /**
   * `model`: a whole model (config.json, safetensors weights, tokenizer). `adapter`: a PEFT adapter, which needs a
   * base.
   */
  readonly kind: "model" | "adapter";
  readonly folder: string;
  /** The Hugging Face model that the files were downloaded from. `revision` is the commit. */
  readonly hub?: { readonly id: string; readonly revision: string };
}

/**
 * Finds the files of a model or a PEFT adapter. `model` is a folder, or the id (`owner/name`) of a hub model, which is
 * downloaded into the shared cache if necessary. Or it is a GGUF file here or on the hub (`hf:owner/name/file.gguf`),
 * which becomes a folder in the cache: see `ggufFolder`. Throws `model.missing`, which lists the present and the required
 * files. Throws `model.malformed` if a file of an exported folder has changed; see `checkModelFolder`.
 */
export async function findModel(model: string, options: ModelFolderOptions = {}): Promise<LocalModel> {
  const isFolder = await stat(model).then(
    (found) => found.isDirectory(),
    () => undefined,
  );
  if (isFolder === true) {
    const present = await readdir(model);
    const read = [...present.filter((name) => readFiles.has(name)), ...(await additionalTemplates(model))];
    await checkModelFolder(model, { read, weights: options.weights !== false });
    if (isAdapter(present)) {
      if (!present.includes(adapterFiles[1])) throw missing({ model, needed: [adapterFiles[1]], present });
      return { kind: "adapter", folder: model };
    }
    assertComplete(model, present, options);
    if (options.weights === false) return { kind: "model", folder: model };
    const absent = (await weightFiles(model))
      .map((file) => path.basename(file))
      .filter((name) => !present.includes(name));
    if (absent.length > 0) throw missing({ model, needed: absent, present });
    return { kind: "model", folder: model };
  }
  if (isFolder === false && (await isGguf(model))) {
    return { kind: "model", folder: await ggufFolder(model, options) };
  }
  const [, repository, file] = /^hf:([\w.-]+\/[\w.-]+)\/(.+)$/.exec(model) ?? [];
  if (repository !== undefined && file !== undefined) return downloadGguf({ repository, file }, options);
  if (isFolder === false || !isHubId(model) || isLocalName(model)) {
    throw new LyceumError({
      code: "model.missing",
      message: isFolder === false ? `${model} is a file, but not a GGUF file.` : `There is no folder ${model}.`,
      hint: `${isFolder === false ? "" : nearPath(model)}Name the folder with config.json and model.safetensors, a GGUF file, a hub model as owner/name, or a hub's GGUF file as hf:owner/name/FILE.gguf.`,
      data: { model },
    });
  }
  return downloadModel(model, options);
}

/** True if the name has the form of a hub id, `owner/name`. */
export function isHubId(name: string): boolean {
  return /^\w[\w.-]*\/[\w.-]+$/.test(name);
}

/** Reads the tokenizer files of a model folder unchanged, by name. An export of the model copies them. */
export async function readTokenizerFiles(folder: string): Promise<Readonly<Record<string, string>>> {
  const files: Record<string, string> = {};
  for (const name of [...tokenizerFileNames, ...(await additionalTemplates(folder))]) {
    const text = await readModelText(folder, name);
    if (text !== undefined) files[name] = text;
  }
  return files;
}

async function downloadGguf(
  { repository, file }: { readonly repository: string; readonly file: string },
  options: ModelFolderOptions,
): Promise<LocalModel> {
  const { revision = "main", weights: _, ...hub } = options;
  const named = { repository, type: "model", revision, path: file } as const;
  const downloaded = await orMissing(`${repository}/${file}`, revision, () => downloadHubFile(named, hub));
  if (await isGguf(downloaded)) return { kind: "model", folder: await ggufFolder(downloaded, options) };
  throw malformedFile({ file: `${repository}/${file}`, reason: "it is not a GGUF file" });
}

async function downloadModel(model: string, options: ModelFolderOptions): Promise<LocalModel> {
  const { revision = "main", weights = true, ...hub } = options;
  return orMissing(model, revision, async () => {
    const named = { repository: model, type: "model", revision } as const;
    // All files are from one commit, so that they are consistent and in one folder.
    const repository = { ...named, revision: await resolveHubRevision(named, hub) };
    const origin = { id: model, revision: repository.revision };
    const present = await listHubFiles(repository, hub);
    const templates = present.filter(isAdditionalTemplate);
    const tokenizerFiles = [...tokenizerFileNames.filter((name) => present.includes(name)), ...templates];
    if (isAdapter(present)) {
      const wanted = [...adapterFiles, adapterBaseFile].filter((name) => present.includes(name));
      for (const name of [...wanted, ...tokenizerFiles]) await downloadHubFile({ ...repository, path: name }, hub);
      const folder = path.dirname(await downloadHubFile({ ...repository, path: adapterFiles[0] }, hub));
      return { kind: "adapter", folder, hub: origin };
    }
    assertComplete(model, present, options);
    const small = ["config.json", weightsIndex].filter((name) => present.includes(name));
    for (const name of [...small, ...tokenizerFiles]) await downloadHubFile({ ...repository, path: name }, hub);
    const folder = path.dirname(await downloadHubFile({ ...repository, path: "config.json" }, hub));
    for (const file of weights ? await weightFiles(folder) : []) {
      await downloadHubFile({ ...repository, path: path.basename(file) }, hub);
    }
    return { kind: "model", folder, hub: origin };
  });
}

/** Throws `model.missing` for what the hub does not provide. */
async function orMissing<T>(model: string, revision: string, download: () => Promise<T>): Promise<T> {
  try {
    return await download();
  } catch (error) {
    if (!LyceumError.isInstance(error) || !error.code.startsWith("data.")) throw error;
    throw new LyceumError({
      code: "model.missing",
      message: `There is no folder ${model}, and the hub does not provide this model: ${error.message}`,
      hint: error.hint ?? "Check the name, or give the path of the model's folder.",
      data: { model, revision },
      cause: error,
    });
  }
}

/** True for a folder with a PEFT adapter and without the weights of a whole model. */
function isAdapter(present: readonly string[]): boolean {
  return present.includes(adapterFiles[0]) && !present.includes(singleWeights) && !present.includes(weightsIndex);
}

/** Throws `model.missing` if config, tokenizer or weights are missing. */
function assertComplete(
  model: string,
  present: readonly string[],
  { weights = true }: Pick<ModelFolderOptions, "weights">,
): void {
  const needed = ["config.json", "tokenizer.json"].filter((name) => !present.includes(name));
  const hasWeights = present.includes(singleWeights) || present.includes(weightsIndex);
  if (weights && !hasWeights) needed.push(`${singleWeights} (or ${weightsIndex})`);
  if (needed.length > 0) throw missing({ model, needed, present });
}

function missing(options: {
  readonly model: string;
  readonly needed: readonly string[];
  readonly present: readonly string[];
}): LyceumError {
  const { model, needed, present } = options;
  const shown = present.toSorted().slice(0, 20);
  const more = present.length - shown.length;
  const found = shown.length === 0 ? "It is empty" : `It has ${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  return new LyceumError({
    code: "model.missing",
    message: `The model ${model} lacks ${needed.join(", ")}. ${found}.`,
    hint: hintFor(present),
    data: { model, needed: [...needed], present: [...present] },
  });
}

function hintFor(present: readonly string[]): string {
  const has = (pattern: RegExp): boolean => present.some((name) => pattern.test(name));
  if (has(/^adapter_config\.json$/)) {
    return "This is a PEFT adapter without its weights: save it again by peft's save_pretrained, in safetensors.";
  }
  if (has(/\.gguf$/)) {
    return "Name one of its GGUF files: FOLDER/FILE.gguf, or hf:owner/name/FILE.gguf for a hub model.";
  }
  if (has(/^pytorch_model.*\.bin$/) || has(/^tokenizer\.model$/)) {
    return "Load it in transformers and save it again with save_pretrained: that writes safetensors and tokenizer.json.";
  }
  if (!has(/\.json$/) && !has(/\.safetensors$/)) {
    return "Name the folder of a model, an adapter, a team, a checkpoint or a run.";
  }
  return "Download the model again with all its files, or export it again.";
}
