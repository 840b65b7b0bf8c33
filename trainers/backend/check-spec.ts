import { invalidConfig } from "../../src/contract/errors/index.ts";
import type { AdamParams, LoraSpec, ModelSpec } from "./training-backend.ts";

/** Checks a model spec. Throws `backend.unsupported` or `config.invalid` if no model can be opened with it. */
export function checkSpec({ source, trainable, valueHead }: ModelSpec): void {
  if (valueHead === true && trainable.type === "frozen") {
    throw invalidConfig(
      "A frozen model cannot have a value head, because it would never be trained.",
      'Open the model with trainable { type: "full" } or { type: "lora", ... }, or without valueHead.',
    );
  }
  if (source.type === "scratch") check("the seed of a model from scratch", source.seed, Number.isFinite(source.seed));
  if (trainable.type === "lora") checkLora(trainable.lora);
}

function checkLora({ rank = 16, alpha = 32, targets, dropout = 0, seed = 0 }: LoraSpec): void {
  check("the rank of an adapter", rank, Number.isInteger(rank) && rank >= 1);
  check("alpha of an adapter", alpha, Number.isFinite(alpha) && alpha > 0);
  check("dropout of an adapter", dropout, dropout >= 0 && dropout < 1);
  check("the seed of an adapter", seed, Number.isFinite(seed));
  if (targets !== undefined) check("the number of layers with an adapter", targets.length, targets.length > 0);
}

/** Throws `config.invalid` for optimizer settings that would turn weights into NaN. */
export function checkAdamParams(params: AdamParams): void {
  const { learningRate, beta1, beta2, epsilon, weightDecay, clipNorm = Infinity } = params;
  for (const [name, value] of Object.entries({ learningRate, epsilon, weightDecay })) {
    check(name, value, value >= 0 && value < Infinity);
  }
  for (const [name, value] of Object.entries({ beta1, beta2 })) check(name, value, value >= 0 && value < 1);
  check("clipNorm", clipNorm, clipNorm > 0);
}

function check(what: string, value: number, isRight: boolean): void {
  if (isRight) return;
  throw invalidConfig(
    `Invalid setting: ${what} is ${value}.`,
    "Allowed values: ranks and numbers of layers are integers of at least 1, alpha and clipNorm above 0, betas and dropout at least 0 and below 1. All are finite.",
  );
}
