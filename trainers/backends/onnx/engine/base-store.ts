import { invalidConfig, LyceumError } from "../../../../src/contract/errors/index.ts";
import type { JsonObject } from "../../../../src/contract/json.ts";
import { warn } from "../../../../src/core/text/warn.ts";
import { readModelJson } from "../../../../src/core/tokens/model-file.ts";
import { type DecoderConfig, readDecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import { decoderParameters, embeddingName } from "../../../model-folders/architecture/parameters.ts";
import type { Quantization } from "../../../model-folders/architecture/quantized-parameters.ts";
import { unreadKeys } from "../../../model-folders/architecture/unread-keys.ts";
import type { WritableDtype } from "../../../model-folders/weights/float-conversion.ts";
import { readWeights, type WeightsReader } from "../../../model-folders/weights/safetensors.ts";
import { transposeMatrix } from "../../../model-folders/weights/transpose.ts";
import type { LocalSource } from "../../shared/open-source.ts";
import type { BaseBlock } from "../models/graph-parameters.ts";
import { initializeParameters } from "../models/initial-weights.ts";
import { ParameterBlock } from "../models/parameter-block.ts";
import { checkParameterMemory } from "../models/parameter-memory.ts";
import { QuantizedBlock } from "../models/quantized-block.ts";
import { valueHeadParameters } from "../models/value-head.ts";
import { baseHash } from "./base-hash.ts";
import { mergedParameter } from "./merge-adapter.ts";
import { readStoredAdapter, type StoredAdapter } from "./stored-adapter.ts";
import { storedShape } from "./stored-form.ts";

/** Base weights in memory. All models of the same source that do not train them share them. */
export interface BaseWeights<Block extends BaseBlock = BaseBlock> {
  readonly key: string;
  readonly config: DecoderConfig;
  readonly block: Block;
  /** The type of the embedding in the files. F32 if that type is wider, or if there are no files. */
  readonly dtype: WritableDtype;
}

/** Loads base weights. Each source is loaded once while it is in use. */
export class BaseStore {
  readonly #quantization: Omit<Quantization, "config"> | undefined;
  /** The shared weights, with the number of users of each source. */
  readonly #shared: { readonly base: BaseWeights; readonly users: Map<string, number> }[] = [];

  /** `quantization` is that of shared weights. Default: they are float32. */
  constructor(quantization?: Omit<Quantization, "config">) {
    this.#quantization = quantization;
  }

  /**
   * Returns read-only weights. Sources with equal weights share memory, for example the bases next to the adapters of a
   * team. Call {@link release} after use.
   */
  async share(source: LocalSource): Promise<BaseWeights> {
    const key = JSON.stringify(source);
    let known = this.#shared.find(({ users }) => users.has(key));
    if (known === undefined) {
      const quantization = this.#quantization;
      const base = await (quantization === undefined ? loadBase(source) : loadQuantized(source, quantization));
      known = this.#shared.find((shared) => sameWeights(shared.base, base));
      if (known === undefined) {
        known = { base, users: new Map() };
        this.#shared.push(known);
      }
    }
    known.users.set(key, (known.users.get(key) ?? 0) + 1);
    return known.base;
  }

  /**
   * Removes one user of a source. Returns true if that was the last user of its weights. A source without users is read
   * again when it is next shared, because its files may have changed.
   */
  release(source: LocalSource): boolean {
    const key = JSON.stringify(source);
    const index = this.#shared.findIndex(({ users }) => users.has(key));
    if (index === -1) return false;
    const { users } = this.#shared[index]!;
    const left = users.get(key)! - 1;
    if (left > 0) users.set(key, left);
    else users.delete(key);
    if (users.size > 0) return false;
    this.#shared.splice(index, 1);
    return true;
  }
}

function sameWeights(a: BaseWeights, b: BaseWeights): boolean {
  const form = ({ config, block, dtype }: BaseWeights): string => JSON.stringify([config, block.specs, dtype]);
  if (form(a) !== form(b)) return false;
  if (baseHash(a.block) !== baseHash(b.block)) return false;
  if (a.block instanceof QuantizedBlock) return b.block instanceof QuantizedBlock && a.block.equals(b.block);
  const bytes = ({ data }: ParameterBlock): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return b.block instanceof ParameterBlock && bytes(a.block).equals(bytes(b.block));
}

/**
 * Loads weights into their own memory, merges the source's adapter into them, and adds a value head if requested.
 * `trained` also counts the memory of the optimizer state. Throws `backend.unsupported` if the weights do not fit in
 * memory.
 */
export async function loadBase(
  source: LocalSource,
  { valueHead = false, trained = false }: { readonly valueHead?: boolean; readonly trained?: boolean } = {},
): Promise<BaseWeights<ParameterBlock>> {
  const create = (config: DecoderConfig, quantizable = true): ParameterBlock => {
    const specs = [...decoderParameters(config), ...(valueHead ? valueHeadParameters(config) : [])];
    checkParameterMemory(specs, { trained, ...(quantizable ? { config } : {}) });
    return new ParameterBlock(specs);
  };
  const key = JSON.stringify(source);
  if (source.type === "scratch") {
    const config = readDecoderConfig(source.config);
    const block = create(config, false);
    initializeParameters(block, { seed: source.seed, deviation: config.initializerRange });
    return { key, config, block, dtype: "F32" };
  }
  const base = { key, ...(await readFolder(source.folder, create)) };
  if (source.adapter !== undefined) mergeInto(base, await readStoredAdapter(source.adapter, base));
  return base;
}

/**
 * Loads frozen weights and quantizes their matrices, one at a time. Throws `config.invalid` for a source whose weights are
 * not those of its files, and the errors of {@link loadBase}.
 */
async function loadQuantized(
  source: LocalSource,
  options: Omit<Quantization, "config">,
): Promise<BaseWeights<QuantizedBlock>> {
  if (source.type === "scratch" || source.adapter !== undefined) throw notQuantizable();
  const create = (config: DecoderConfig): QuantizedBlock => {
    const specs = decoderParameters(config);
    const quantization = { config, ...options };
    checkParameterMemory(specs, { trained: false, quantization, config });
    return new QuantizedBlock(specs, quantization);
  };
  return { key: JSON.stringify(source), ...(await readFolder(source.folder, create)) };
}

/** The error for a model whose weights would not stay as they are quantized. */
export function notQuantizable(): LyceumError {
  return invalidConfig(
    "backend.quantize is for frozen weights, but this model trains all of its weights, merges an adapter or begins from scratch.",
    "Set model.path and model.adapter.type: lora, and start: continue if path is an adapter. Or remove backend.quantize (--quantize). To evaluate a checkpoint of such a model, export it first.",
    { key: "backend.quantize" },
  );
}

/** Reads a model folder into a new block. */
async function readFolder<Block extends BaseBlock>(
  folder: string,
  create: (config: DecoderConfig) => Block,
): Promise<Omit<BaseWeights<Block>, "key">> {
  const config = readDecoderConfig(await readConfigJson(folder));
  const { unread, ...read } = await readWeights(folder, (weights) => readBase(weights, { folder, config, create }));
  warnOfUnread(folder, { keys: unreadKeys(config), tensors: unread });
  return read;
}

interface ReadBase<Block extends BaseBlock> extends Omit<BaseWeights<Block>, "key"> {
  /** The names of tensors that the model does not have. */
  readonly unread: readonly string[];
}

/** Reads the weights of a decoder. The embedding and the head may be stored in one tensor, under either name. */
async function readBase<Block extends BaseBlock>(
  weights: WeightsReader,
  options: {
    readonly folder: string;
    readonly config: DecoderConfig;
    readonly create: (config: DecoderConfig) => Block;
  },
): Promise<ReadBase<Block>> {
  const { folder, config, create } = options;
  let dtype: WritableDtype = "F32";
  // A checkpoint that contains only the body omits the body's name.
  const body = `${config.architecture.body}.`;
  const storedName = (name: string): string | undefined => {
    const isTied = config.tiedEmbeddings && name === embeddingName(config);
    const names = [name, ...(name.startsWith(body) ? [name.slice(body.length)] : []), ...(isTied ? [outputHead] : [])];
    return names.find((candidate) => weights.has(candidate));
  };
  const tensors = decoderParameters(config).map((spec) => {
    const { name, transposed = false } = spec;
    const stored = storedName(name);
    if (stored === undefined) throw missingTensor(folder, name);
    const { shape: found, dtype: storedDtype, file, byteOffset } = weights.info(stored);
    if (name === embeddingName(config) && (storedDtype === "F16" || storedDtype === "BF16")) dtype = storedDtype;
    const wanted = storedShape(spec);
    if (found.join() !== wanted.join()) throw wrongShape({ folder, name, found, wanted });
    return { name, stored, transposed, wanted, file, byteOffset };
  });
  const inFileOrder = tensors.toSorted((a, b) =>
    a.file === b.file ? a.byteOffset - b.byteOffset : a.file < b.file ? -1 : 1,
  );
  const block = create(config);
  for (const { name, stored, transposed, wanted } of inFileOrder) {
    if (transposed) block.set(name, transposeMatrix(await weights.read(stored), wanted));
    else if (block instanceof ParameterBlock) await weights.read(stored, block.view(name));
    else block.set(name, await weights.read(stored));
  }
  const used = new Set([...tensors.map(({ stored }) => stored), outputHead]);
  const unread = weights.names.filter((name) => !used.has(name) && !harmlessTensor.test(name));
  const untied = await readOwnHead(weights, { folder, config, block });
  return { config, block, dtype, unread, ...untied };
}

const outputHead = "lm_head.weight";

/** Buffers that `transformers` computes itself. Older checkpoints contain them. */
const harmlessTensor = /(^|\.)(rotary_emb\.inv_freq|attn\.bias|attn\.masked_bias)$/;

/**
 * Reads the output head of a checkpoint whose config ties it to the embedding. If the two differ, the config is wrong:
 * like `transformers`, returns a model with a head of its own. Returns undefined if they are equal, or if there is no
 * other head.
 */
async function readOwnHead<Block extends BaseBlock>(
  weights: WeightsReader,
  options: Pick<BaseWeights<Block>, "config" | "block"> & { readonly folder: string },
): Promise<Pick<BaseWeights<Block>, "config" | "block"> | undefined> {
  const { folder, config: tied, block: shared } = options;
  if (!tied.tiedEmbeddings || !weights.has(outputHead)) return undefined;
  const wanted = shared.shape(embeddingName(tied));
  const { shape: found } = weights.info(outputHead);
  if (found.join() !== wanted.join()) throw wrongShape({ folder, name: outputHead, found, wanted });
  const head = await weights.read(outputHead);
  if (shared.holds(embeddingName(tied), head)) return undefined;
  const config = { ...tied, tiedEmbeddings: false, source: { ...tied.source, tie_word_embeddings: false } };
  const block = shared.extended(decoderParameters(config), config) as Block;
  block.set(outputHead, head);
  return { config, block };
}

/** Warns of weights in a folder that no layer uses. `transformers` ignores and reports them too. */
function warnOfUnread(
  folder: string,
  { keys, tensors }: { readonly keys: readonly string[]; readonly tensors: readonly string[] },
): void {
  const parts = [
    ...(keys.length === 0 ? [] : [`the keys ${shortList(keys)} of config.json`]),
    ...(tensors.length === 0 ? [] : [`the tensors ${shortList(tensors)}`]),
  ];
  if (parts.length === 0) return;
  warn("Model", `The model in ${folder} has parts that are not used: ${parts.join(", and ")}.`);
}

function shortList(names: readonly string[]): string {
  const more = names.length - 5;
  return `${names.slice(0, 5).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Merges an adapter into the base weights, in place. */
function mergeInto(
  { config, block: base }: Pick<BaseWeights<ParameterBlock>, "config" | "block">,
  { block, config: { alpha, rank } }: StoredAdapter,
): void {
  const weights = { config, base, adapter: { block, scale: alpha / rank } };
  for (const { name } of base.specs) {
    const merged = mergedParameter(weights, name);
    if (merged !== base.view(name)) base.view(name).set(merged);
  }
}

async function readConfigJson(folder: string): Promise<JsonObject> {
  const config = await readModelJson(folder, "config.json");
  if (config !== undefined) return config;
  throw new LyceumError({
    code: "model.missing",
    message: `The model folder ${folder} has no config.json.`,
    hint: "Point model.path at a Hugging Face model folder: config.json, safetensors weights, tokenizer files.",
  });
}

function missingTensor(folder: string, name: string): LyceumError {
  return new LyceumError({
    code: "model.missing",
    message: `The weights in ${folder} have no tensor "${name}".`,
    hint: "The config.json and the weights may belong to different models; download the folder again.",
    data: { folder, name },
  });
}

function wrongShape(options: {
  folder: string;
  name: string;
  found: readonly number[];
  wanted: readonly number[];
}): LyceumError {
  const { folder, name, found, wanted } = options;
  return new LyceumError({
    code: "model.malformed",
    message: `The tensor "${name}" in ${folder} has the shape [${found.join(", ")}], but the config.json requires [${wanted.join(", ")}].`,
    hint: "The config.json and the weights may belong to different models; download the folder again.",
    data: { folder, name },
  });
}
