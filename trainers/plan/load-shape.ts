import { readFile } from "node:fs/promises";
import { invalidConfig, LyceumError } from "../../src/contract/errors/index.ts";
import { isJsonObject, type JsonObject } from "../../src/contract/json.ts";
import { readModelJson } from "../../src/core/tokens/model-file.ts";
import { type ModelConfig, policySpec } from "../config/model-config.ts";
import { type DecoderConfig, readDecoderConfig } from "../model-folders/architecture/decoder-config.ts";
import { findBase } from "../model-folders/find-base.ts";
import { findModel } from "../model-folders/model-folder.ts";
import { locateModel } from "../models/model-location.ts";

const hint =
  "Give the model's shape: --shape config.json, or --shape hidden_size=4096,num_hidden_layers=32,num_attention_heads=32,num_key_value_heads=8,intermediate_size=14336,vocab_size=128256.";

/**
 * Reads the shape of a config's model without its weights: from `shape`, from the keys of `model.scratch`, or from the
 * `config.json` of `model.path`, which is downloaded if it is not on this machine. `shape` is the path of a `config.json`
 * or a list `key=value,...` of its keys, with `model_type=llama` by default.
 *
 * Throws `model.missing` or `model.unsupported` for a model that is not found or not known, and `config.invalid` for a
 * wrong `shape`. The hint of each error describes `--shape`.
 */
export async function loadShape(
  model: ModelConfig,
  { shape, signal }: { readonly shape?: string | undefined; readonly signal?: AbortSignal | undefined },
): Promise<DecoderConfig> {
  try {
    return readDecoderConfig(shape === undefined ? await modelJson(model, signal) : await shapeJson(shape));
  } catch (error) {
    if (!LyceumError.isInstance(error) || !error.code.startsWith("model.")) throw error;
    throw new LyceumError({
      code: error.code,
      message: error.message,
      hint: `${error.hint === undefined ? "" : `${error.hint} `}${hint}`,
      ...(error.data === undefined ? {} : { data: error.data }),
      cause: error,
    });
  }
}

async function modelJson(model: ModelConfig, signal: AbortSignal | undefined): Promise<JsonObject> {
  if (model.path === undefined) {
    const { source } = policySpec(model, { seed: 0 });
    return (source.type === "scratch" ? source.config : {}) as JsonObject;
  }
  return (await readModelJson(await findModelFolder(model, signal), "config.json")) ?? {};
}

/**
 * Returns the folder of a config's `model.path` with `config.json` and tokenizer, that of the base for an adapter.
 * Downloads them if they are not on this machine. Throws `model.missing` if there is none, and `model.unsupported` for a
 * checkpoint.
 */
export async function findModelFolder(model: ModelConfig, signal: AbortSignal | undefined): Promise<string> {
  const { path = "", revision, base } = model;
  const options = { weights: false, ...(signal === undefined ? {} : { signal }) };
  const place = await locateModel(path);
  if (place.type === "checkpoint") {
    throw new LyceumError({
      code: "model.unsupported",
      message: `${path} is a checkpoint, which does not say the shape of its model.`,
      hint: `Export its model: lyceum export ${place.folder}.`,
    });
  }
  const folder = place.type === "team" ? Object.values(place.agents)[0]! : place.type === "model" ? place.path : path;
  const found = await findModel(folder, { ...options, ...(revision === undefined ? {} : { revision }) });
  return found.kind === "model" ? found.folder : (await findBase(found.folder, { ...options, base })).folder;
}

async function shapeJson(shape: string): Promise<JsonObject> {
  if (shape.includes("=")) {
    const pairs = shape.split(",").map((pair): [string, string | number | boolean] => {
      const [key = "", value = ""] = pair.split("=", 2).map((text) => text.trim());
      if (key === "" || value === "") throw wrongShape(`"${pair}" is not key=value`);
      if (value === "true" || value === "false") return [key, value === "true"];
      return [key, /^[\d.e+-]+$/i.test(value) ? Number(value) : value];
    });
    return { model_type: "llama", ...Object.fromEntries(pairs) };
  }
  let value: unknown;
  try {
    value = JSON.parse(await readFile(shape, "utf8"));
  } catch (cause) {
    throw wrongShape(`${shape} cannot be read: ${(cause as Error).message}`);
  }
  if (!isJsonObject(value)) throw wrongShape(`${shape} is not a JSON object`);
  return value;
}

function wrongShape(why: string): LyceumError {
  return invalidConfig(`The shape cannot be used: ${why}.`, hint);
}
