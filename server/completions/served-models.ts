import type { SampledModel } from "../../src/core/policy/sampled-model.ts";

/** The models of a completion server. */
export interface ServedModels {
  /** The names that `/v1/models` lists. */
  modelNames(): readonly string[];
  /** True if the server is shutting down and refuses new requests. */
  readonly isDraining?: boolean;
  /** Returns the model with a name. Undefined for an unknown name. */
  sampledModel(name: string): Promise<SampledModel | undefined>;
}
