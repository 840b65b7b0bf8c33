import { LyceumError } from "../../../src/contract/errors/index.ts";
import type { AdamParams, LoraSpec, ModelSpec } from "../../backend/training-backend.ts";

/** Refuses what no model can be opened with: `backend.unsupported` or `config.invalid`. */
export function checkSpec({ source, trainable, valueHead }: ModelSpec): void {
  if (valueHead === true && trainable.type === "frozen") {
    throw new LyceumError({
      code: "config.invalid",
      message: "A frozen model cannot have a value head: it would never learn a value.",
      hint: 'Open the model with trainable { type: "full" } or { type: "lora", ... }, or without valueHead.',
    });
  }
  if (source.type === "scratch") check("the seed of a model from scratch", source.seed, Number.isFinite(source.seed));
  if (trainable.type === "lora") checkLora(trainable.lora);
}

function checkLora({ rank = 16, alpha = 32, targets, dropout = 0, seed = 0 }: LoraSpec): void {
  check("the rank of an adapter", rank, Number.isInteger(rank) && rank >= 1);
  check("alpha of an adapter", alpha, Number.isFinite(alpha) && alpha > 0);
  check("dropout of an adapter", dropout, dropout >= 0 && dropout < 1);
  check("the seed of an adapter", seed, Number.isFinite(seed));
  if (targets !== undefined) check("the number of layers that an adapter sits on", targets.length, targets.length > 0);
}

/** Refuses parameters that would make weights NaN: `config.invalid`. */
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
  throw new LyceumError({
    code: "config.invalid",
    message: `It cannot be that ${what} is ${value}.`,
    hint: "Ranks and numbers of layers are whole from 1, alpha and clipNorm above 0, betas and dropout from 0 to below 1, everything finite.",
  });
}
