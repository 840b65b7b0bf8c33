import type { Sampler } from "../../../src/contract/sampler.ts";
import type { Model, ModelSource, TrainingBackend } from "../../backend/training-backend.ts";
import { batchedSampler } from "./batched-sampler.ts";

/** A model that is not trained, and the sampler of its weights. */
export interface FrozenModel {
  readonly model: Model;
  readonly sampler: Sampler;
}

/** Opens a model that is not trained. Rejects with the errors of opening it. */
export async function openFrozen(backend: TrainingBackend, source: ModelSource): Promise<FrozenModel> {
  const model = await backend.openModel({ source, trainable: { type: "frozen" } });
  return { model, sampler: batchedSampler(await model.snapshot()) };
}

/** Closes a model after its running calls. Does nothing if it failed to open. */
export async function closeFrozen(opened: Promise<FrozenModel> | undefined): Promise<void> {
  const found = await opened?.catch(() => undefined);
  await found?.sampler.close();
  await found?.model.close();
}
