import { supportWords, writeSupport } from "../../../src/contract/token-support.ts";
import type { Datum } from "../../backend/datum.ts";
import type { LossTerm } from "../../backend/loss-term.ts";
import { type TokenLossTerm, tokenLossOf } from "../../backend/loss-values/token-loss-of.ts";
import { valueLoss } from "../../backend/loss-values/value-loss.ts";
import type { ForwardOutput } from "../../backend/training-backend.ts";
import type { FrameArrays } from "./frames.ts";

/** A position with loss: an index into a datum's arrays. */
interface Position {
  readonly datum: Datum;
  readonly t: number;
}

/** A micro-batch as the worker reads it. */
export interface MicroBatch {
  readonly positions: readonly Position[];
  readonly arrays: FrameArrays;
  readonly shapes: Readonly<Record<string, readonly number[]>>;
}

/** Lays out sequences, padded at the right, and their positions with loss, one sequence after another. */
export function layOut(data: readonly Datum[], vocabularySize: number): MicroBatch {
  const length = Math.max(...data.map(({ tokens }) => tokens.length));
  const tokens = new Int32Array(data.length * length);
  const indices: number[] = [];
  const positions: Position[] = [];
  for (const [row, datum] of data.entries()) {
    tokens.set(datum.tokens, row * length);
    for (const [t, weight] of datum.lossMask.entries()) {
      if (weight === 0) continue;
      indices.push(row * length + t);
      positions.push({ datum, t });
    }
  }
  const arrays = {
    tokens,
    positions: Int32Array.from(indices),
    targets: Int32Array.from(positions, ({ datum, t }) => datum.targets[t]!),
    temperatures: Float32Array.from(positions, ({ datum }) => datum.temperature ?? 1),
  };
  const shapes = { tokens: [data.length, length] };
  if (!data.some(({ supports }) => supports?.some((support) => support !== null))) return { positions, arrays, shapes };
  const words = supportWords(vocabularySize);
  const bitmaps = new Int32Array(positions.length * words);
  for (const [i, { datum, t }] of positions.entries()) {
    writeSupport(datum.supports?.[t] ?? null, bitmaps.subarray(i * words, (i + 1) * words));
  }
  return {
    positions,
    arrays: { ...arrays, supports: new Uint8Array(bitmaps.buffer) },
    shapes: { ...shapes, supports: [positions.length, 4 * words] },
  };
}

/** Returns the outputs that loss terms read. */
export function outputsOf(terms: readonly LossTerm[]): ForwardOutput[] {
  const outputs: ForwardOutput[] = [];
  if (terms.some(({ type }) => type !== "value")) outputs.push("logprobs");
  if (terms.some(({ type }) => type === "entropy")) outputs.push("entropy");
  if (terms.some(({ type }) => type === "value")) outputs.push("values");
  return outputs;
}

/** The losses of a micro-batch, and their derivatives by each output. */
export interface Losses {
  /** The sum of each term, in the order of the terms. */
  readonly sums: readonly number[];
  /** By output: one number for each position. */
  readonly derivatives: FrameArrays;
}

/** Computes the loss terms at all positions from the outputs of a pass. */
export function lossesOf(
  terms: readonly LossTerm[],
  positions: readonly Position[],
  outputs: Readonly<Partial<Record<ForwardOutput, Float32Array>>>,
): Losses {
  const derivatives = Object.fromEntries(
    outputsOf(terms).map((name) => [name, new Float32Array(positions.length)]),
  ) as Partial<Record<ForwardOutput, Float32Array>>;
  const sums = terms.map((term) => {
    let sum = 0;
    for (const [i, position] of positions.entries()) {
      const { output, value, derivative } = lossAt(term, position, {
        logprob: outputs.logprobs?.[i] ?? 0,
        entropy: outputs.entropy?.[i] ?? 0,
        value: outputs.values?.[i] ?? 0,
      });
      sum += value;
      derivatives[output]![i]! += derivative;
    }
    return sum;
  });
  return { sums, derivatives: derivatives as FrameArrays };
}

function lossAt(
  term: LossTerm,
  { datum, t }: Position,
  found: { readonly logprob: number; readonly entropy: number; readonly value: number },
): { readonly output: ForwardOutput; readonly value: number; readonly derivative: number } {
  const mask = datum.lossMask[t]!;
  const weight = term.weight ?? 1;
  if (term.type === "entropy") {
    return { output: "entropy", value: -weight * mask * found.entropy, derivative: -weight * mask };
  }
  if (term.type === "value") {
    const oldPrediction = datum.oldValues?.[t];
    const input = {
      prediction: found.value,
      target: datum.returns![t]!,
      mask,
      ...(oldPrediction === undefined ? {} : { oldPrediction }),
    };
    const { value, derivative } = valueLoss(input, term.clip);
    return { output: "values", value: weight * value, derivative: weight * derivative };
  }
  return { output: "logprobs", ...tokenLossOf(term as TokenLossTerm, tokenInput(datum, t, found.logprob)) };
}

function tokenInput(datum: Datum, t: number, logprob: number) {
  const { advantages, behaviourLogprobs, referenceLogprobs, lossMask } = datum;
  return {
    logprob,
    mask: lossMask[t]!,
    ...(advantages === undefined ? {} : { advantage: advantages[t]! }),
    ...(behaviourLogprobs === undefined ? {} : { behaviourLogprob: behaviourLogprobs[t]! }),
    ...(referenceLogprobs === undefined ? {} : { referenceLogprob: referenceLogprobs[t]! }),
  };
}

/** Puts the outputs of positions back into arrays as long as each datum's tokens, with 0 elsewhere. */
export function scatter(data: readonly Datum[], values: Float32Array): Float32Array[] {
  let next = 0;
  return data.map(({ lossMask }) => lossMask.map((weight) => (weight === 0 ? 0 : values[next++]!)));
}
