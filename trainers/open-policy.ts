import { demonstrationPolicy } from "../src/policy/demonstration-policy.ts";
import type { Policy } from "../src/policy/policy.ts";
import { samplerPolicy } from "../src/policy/sampler-policy.ts";
import type { Model } from "./backend/training-backend.ts";
import type { TrainingRun } from "./training-run.ts";

/** A policy that holds something until it is disposed of. */
export interface OpenPolicy extends AsyncDisposable {
  readonly policy: Policy;
}

/** Who plays a training batch: the model as it is now, or the environment's expert. */
export async function openActor(run: TrainingRun): Promise<OpenPolicy> {
  const { algorithm, environment, model } = run;
  if (algorithm.rollout.actor === "policy") return openModelPolicy(model);
  const policy = demonstrationPolicy({ environment, renderer: model.renderer });
  return { policy, [Symbol.asyncDispose]: async () => {} };
}

/** A policy of the model's weights as they are now. */
export async function openModelPolicy(model: Model): Promise<OpenPolicy> {
  const sampler = await model.snapshot();
  const policy = samplerPolicy({
    name: `weights ${sampler.version}`,
    sampler: () => sampler,
    renderer: model.renderer,
    maxLength: model.maxLength,
  });
  return { policy, [Symbol.asyncDispose]: () => sampler.close() };
}
