import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LyceumError } from "../../../../src/contract/errors/index.ts";
import { isJsonObject, type JsonObject } from "../../../../src/contract/json.ts";
import type { Bits } from "../../../model-folders/architecture/quantized-parameters.ts";
import { writeNewFolder } from "../../../model-folders/weights/new-folder.ts";
import { openWeights } from "../../../model-folders/weights/safetensors.ts";
import { writeSafetensors } from "../../../model-folders/weights/safetensors-writer.ts";
import { ParameterBlock } from "../models/parameter-block.ts";
import { sampledValues } from "../models/sampled-values.ts";
import type { EngineModel, OptimizerState } from "./engine-model.ts";
import { type ModelWeights, quantizedBits, shapeKey } from "./weights.ts";

const schemaVersion = 1;
const arrays = ["parameters", "firstMoment", "secondMoment"] as const;

/**
 * Writes a model's training state (`state.safetensors` and `state.json`) into a new folder. The folder appears only
 * when it is complete. Throws `checkpoint.write-failed`.
 */
export async function saveTrainingState(model: EngineModel, folder: string): Promise<void> {
  const { version, lastStepId, adamStep, lossScale, ...values } = model.state;
  const state = { schemaVersion, ...identity(model.weights), version, lastStepId, adamStep, lossScale };
  await writeNewFolder(folder, async (partial) => {
    await writeSafetensors(
      join(partial, "state.safetensors"),
      arrays.map((name) => ({ name, shape: [values[name].length], data: values[name] })),
    );
    await writeFile(join(partial, "state.json"), `${JSON.stringify(state, null, 2)}\n`);
  });
}

/**
 * Restores the state that {@link saveTrainingState} wrote. Throws `checkpoint.unusable` if the state is incomplete or
 * belongs to another model. The model is then unchanged. Without `optimizer`, the moments and the number of Adam's steps
 * are 0, and the base may have other bits.
 */
export async function loadTrainingState(
  model: EngineModel,
  folder: string,
  { optimizer }: { readonly optimizer: boolean },
): Promise<void> {
  const state = await readStateJson(folder);
  const { structure, base, quantize } = identity(model.weights);
  if (state.structure !== structure) throw unusable(folder, "it belongs to a model with another shape");
  if (state.base !== base) throw unusable(folder, "its adapter was trained on other base weights");
  if (optimizer && state.quantize !== quantize) {
    throw unusable(
      folder,
      `it was trained with backend.quantize ${named(state.quantize)}, but is opened with ${named(quantize)}`,
    );
  }
  const length = model.trained?.data.length ?? 0;
  const [parameters, firstMoment, secondMoment] = await readArrays(folder, length);
  const { version, lastStepId, adamStep, lossScale } = state;
  const kept = { version, lastStepId, adamStep, lossScale, parameters, firstMoment, secondMoment };
  const zeros = new Float32Array(length);
  model.restore(optimizer ? kept : { ...kept, adamStep: 0, firstMoment: zeros, secondMoment: zeros.slice() });
}

type StateJson = Pick<OptimizerState, "version" | "lastStepId" | "adamStep" | "lossScale"> & {
  readonly structure: string;
  readonly base: string | null;
  /** Absent if the base is float32. */
  readonly quantize?: Bits | undefined;
};

function named(bits: Bits | undefined): string {
  return bits === undefined ? "absent" : String(bits);
}

/**
 * Identifies the owner of a state: the structure, and for an adapter a hash of a sample of the base weights, and the bits
 * that they were quantized to.
 */
function identity(weights: ModelWeights): Pick<StateJson, "structure" | "base" | "quantize"> {
  const structure = shapeKey(weights);
  const { base, adapter } = weights;
  if (adapter === undefined) return { structure, base: null };
  const sample = base instanceof ParameterBlock ? sampledValues(base.data) : base.sample();
  const hash = createHash("sha256").update(sample).digest("hex").slice(0, 16);
  return { structure, base: hash, quantize: quantizedBits(weights) };
}

async function readStateJson(folder: string): Promise<StateJson> {
  let state: unknown;
  try {
    state = JSON.parse(await readFile(join(folder, "state.json"), "utf8"));
  } catch (cause) {
    throw unusable(folder, "its state.json is missing or malformed", cause);
  }
  if (!isJsonObject(state) || !isWhole(state)) throw unusable(folder, "its state.json is malformed");
  if (state.schemaVersion !== schemaVersion) throw unusable(folder, "it was written by another version of Lyceum");
  return state as unknown as StateJson;
}

function isWhole({ version, adamStep, lastStepId, lossScale }: JsonObject): boolean {
  const { scale, cleanRuns } = isJsonObject(lossScale) ? lossScale : { scale: 1, cleanRuns: lossScale ?? 0 };
  return Number(scale) > 0 && [version, adamStep, lastStepId ?? 0, cleanRuns].every(Number.isInteger);
}

async function readArrays(folder: string, length: number): Promise<[Float32Array, Float32Array, Float32Array]> {
  try {
    await using reader = await openWeights(join(folder, "state.safetensors"));
    const read = async (name: (typeof arrays)[number]): Promise<Float32Array> => {
      if (reader.info(name).shape.join() !== String(length))
        throw unusable(folder, `its ${name} have the wrong length`);
      return reader.read(name);
    };
    return [await read("parameters"), await read("firstMoment"), await read("secondMoment")];
  } catch (cause) {
    if (!LyceumError.isInstance(cause) || !cause.code.startsWith("model.")) throw cause;
    throw unusable(folder, cause.message.replace(/\.$/, ""), cause);
  }
}

function unusable(folder: string, why: string, cause?: unknown): LyceumError {
  return new LyceumError({
    code: "checkpoint.unusable",
    message: `The checkpoint in ${folder} cannot be loaded: ${why}.`,
    hint: "If the config has changed, change it back. If the checkpoint is damaged, move it out of the run's folder: the run then continues from the previous checkpoint.",
    cause,
  });
}
