import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LyceumError } from "../../../../src/errors/index.ts";
import { openWeights } from "../weights/safetensors.ts";
import { writeSafetensors } from "../weights/safetensors-writer.ts";
import type { EngineModel, TrainingState } from "./engine-model.ts";
import { structureKey } from "./weights.ts";

const schemaVersion = 1;
const arrays = ["parameters", "firstMoment", "secondMoment"] as const;

/** Writes a model's training state: `state.safetensors` and `state.json`. */
export async function saveTrainingState(model: EngineModel, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const { version, lastStepId, adamStep, ...values } = model.state;
  await writeSafetensors(
    join(folder, "state.safetensors"),
    arrays.map((name) => ({ name, shape: [values[name].length], data: values[name] })),
  );
  const state = { schemaVersion, structure: structureKey(model.weights), version, lastStepId, adamStep };
  await writeFile(join(folder, "state.json"), `${JSON.stringify(state, null, 2)}\n`);
}

/** Restores what {@link saveTrainingState} wrote. Throws `checkpoint.unusable` for another model's state. */
export async function loadTrainingState(model: EngineModel, folder: string): Promise<void> {
  const state = await readStateJson(folder);
  const structure = structureKey(model.weights);
  if (state.schemaVersion !== schemaVersion || state.structure !== structure) {
    throw unusable(folder, "it belongs to a model of another shape, or was written by another version");
  }
  await using reader = await openWeights(join(folder, "state.safetensors"));
  const length = model.trained?.data.length ?? 0;
  for (const name of arrays) {
    if (reader.info(name).shape.join() !== String(length)) throw unusable(folder, `its ${name} have the wrong length`);
  }
  const [parameters, firstMoment, secondMoment] = [
    await reader.read("parameters"),
    await reader.read("firstMoment"),
    await reader.read("secondMoment"),
  ];
  const { version, lastStepId, adamStep } = state;
  model.restore({ version, lastStepId, adamStep, parameters, firstMoment, secondMoment });
}

type StateJson = Pick<TrainingState, "version" | "lastStepId" | "adamStep"> & {
  readonly schemaVersion: number;
  readonly structure: string;
};

async function readStateJson(folder: string): Promise<StateJson> {
  try {
    return JSON.parse(await readFile(join(folder, "state.json"), "utf8")) as StateJson;
  } catch (cause) {
    throw unusable(folder, "its state.json is missing or malformed", cause);
  }
}

function unusable(folder: string, why: string, cause?: unknown): LyceumError {
  return new LyceumError({
    code: "checkpoint.unusable",
    message: `The checkpoint in ${folder} cannot be loaded: ${why}.`,
    hint: "Resume with the configuration that the run was started with, or start a new run in another output folder.",
    ...(cause === undefined ? {} : { cause }),
  });
}
