import { LyceumError } from "../../../../src/contract/errors/index.ts";
import type { JsonObject } from "../../../../src/contract/json.ts";
import { readModelJson } from "../../../../src/core/tokens/model-file.ts";
import type { ModelSource } from "../../../backend/training-backend.ts";
import { type DecoderConfig, readDecoderConfig } from "../architecture/decoder-config.ts";
import { decoderParameters, embeddingName, type ParameterSpec } from "../architecture/parameters.ts";
import { initializeParameters, ParameterBlock } from "../models/parameter-block.ts";
import { checkParameterMemory } from "../models/parameter-memory.ts";
import { valueHeadParameters } from "../models/value-head.ts";
import type { WritableDtype } from "../weights/float-conversion.ts";
import { openWeights } from "../weights/safetensors.ts";
import { transposeMatrix } from "../weights/transpose.ts";
import { baseHash } from "./base-hash.ts";
import { mergedParameter } from "./merge-adapter.ts";
import { readStoredAdapter, type StoredAdapter } from "./stored-adapter.ts";
import { storedShape } from "./stored-form.ts";

/** A source whose files are on this machine. */
export type LocalSource =
  | {
      readonly type: "folder";
      readonly folder: string;
      /** Where the folder was downloaded from; `revision` is the commit. */
      readonly hub?: { readonly id: string; readonly revision: string };
      /** The folder of a PEFT adapter on that model. */
      readonly adapter?: string;
    }
  | Extract<ModelSource, { readonly type: "scratch" }>;

/** Base weights in memory, shared by every model of the same source that does not train them. */
export interface BaseWeights {
  readonly key: string;
  readonly config: DecoderConfig;
  readonly block: ParameterBlock;
  /** The type that the files have the embedding in, float32 if it is wider or the weights are in no file. */
  readonly dtype: WritableDtype;
}

/** Loads base weights, each once while something uses it. */
export class BaseStore {
  /** With how many users each source has. */
  readonly #shared: { readonly base: BaseWeights; readonly users: Map<string, number> }[] = [];

  /**
   * Weights that nobody changes. Sources with the same weights, such as the bases beside the adapters of a team, share
   * them too. Give them back with {@link release}.
   */
  async share(source: LocalSource): Promise<BaseWeights> {
    const key = JSON.stringify(source);
    let known = this.#shared.find(({ users }) => users.has(key));
    if (known === undefined) {
      const base = await loadBase(source);
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
   * One user of a source fewer; true if that was the last one of its weights. A source without users is read anew when
   * it is shared again: its files may have changed.
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
  const bytes = ({ block: { data } }: BaseWeights): Buffer =>
    Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return baseHash(a.block) === baseHash(b.block) && bytes(a).equals(bytes(b));
}

/**
 * Weights in memory of their own, an adapter of the source merged into them, with a value head if asked for. Throws
 * `backend.unsupported` if they do not fit, `trained` with what an optimizer keeps of them.
 */
export async function loadBase(
  source: LocalSource,
  { valueHead = false, trained = false }: { readonly valueHead?: boolean; readonly trained?: boolean } = {},
): Promise<BaseWeights> {
  const parameters = (config: DecoderConfig): ParameterSpec[] => {
    const specs = [...decoderParameters(config), ...(valueHead ? valueHeadParameters(config) : [])];
    checkParameterMemory(specs, { trained });
    return specs;
  };
  const key = JSON.stringify(source);
  if (source.type === "scratch") {
    const config = readDecoderConfig(source.config);
    const block = new ParameterBlock(parameters(config));
    initializeParameters(block, { seed: source.seed, deviation: config.initializerRange });
    return { key, config, block, dtype: "F32" };
  }
  const config = readDecoderConfig(await readConfigJson(source.folder));
  const block = new ParameterBlock(parameters(config));
  await using reader = await openWeights(source.folder);
  const names = new Set(reader.names);
  let dtype: WritableDtype = "F32";
  // A checkpoint of the body alone leaves the body's name out.
  const body = `${config.architecture.body}.`;
  for (const spec of decoderParameters(config)) {
    const { name, transposed = false } = spec;
    const stored = names.has(name) || !name.startsWith(body) ? name : name.slice(body.length);
    if (!names.has(stored)) throw missingTensor(source.folder, name);
    const { shape: found, dtype: type } = reader.info(stored);
    if (name === embeddingName(config) && (type === "F16" || type === "BF16")) dtype = type;
    const wanted = storedShape(spec);
    if (found.join() !== wanted.join()) throw wrongShape({ folder: source.folder, name, found, wanted });
    if (transposed) block.view(name).set(transposeMatrix(await reader.read(stored), wanted));
    else await reader.read(stored, block.view(name));
  }
  const base = { key, config, block, dtype };
  if (source.adapter !== undefined) mergeInto(base, await readStoredAdapter(source.adapter, base));
  return base;
}

/** Adds an adapter to the base weights themselves. */
function mergeInto(
  { config, block: base }: Pick<BaseWeights, "config" | "block">,
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
    message: `The tensor "${name}" in ${folder} is [${found.join(", ")}]; the config.json wants [${wanted.join(", ")}].`,
    hint: "The config.json and the weights may belong to different models; download the folder again.",
    data: { folder, name },
  });
}
