import type { TrainableSpec } from "../../backend/training-backend.ts";
import { RequestError } from "./request-error.ts";

/** The shape of a model in training. */
export interface ModelShape {
  /** 0 for a model whose every weight is trained. */
  readonly rank: number;
  /** The layers that have adapters. */
  readonly attention: boolean;
  readonly mlp: boolean;
}

/** The layers that can be chosen, as most families name them. */
const attentionLayers = ["q_proj", "k_proj", "v_proj", "o_proj"];
const mlpLayers = ["gate_proj", "up_proj", "down_proj"];

/** Returns the trainable part of a model. Throws `RequestError` 400 for an adapter without layers. */
export function trainableOf({ rank, attention, mlp }: ModelShape, seed: number | undefined): TrainableSpec {
  if (rank === 0) return { type: "full" };
  if (!attention && !mlp) {
    throw new RequestError(400, "The adapter has no layers. Set train_attn or train_mlp: train_unembed has no effect.");
  }
  const targets = attention && mlp ? {} : { targets: attention ? attentionLayers : mlpLayers };
  return { type: "lora", lora: { rank, ...targets, ...(seed === undefined ? {} : { seed }) } };
}

/** Throws `RequestError` 400 for an optimizer that the engine does not have. */
export function checkOptimizer(type = "adamw"): void {
  if (type !== "adamw") throw new RequestError(400, `The optimizer ${type} is not supported. Use adamw.`);
}
