import { LyceumError } from "../errors/index.ts";
import type { SamplingSettings } from "./sampler.ts";

/** A token and the natural logarithm of its probability under the distribution it was drawn from. */
export interface TokenChoice {
  readonly id: number;
  readonly logprob: number;
}

/**
 * Draws a token from probabilities (the softmax of logits over temperature). `uniform` is a random number in [0, 1).
 * Top-k, top-p and min-p each look at the given distribution and keep what all of them keep; what is left is
 * normalised anew. Temperature 0 takes the likeliest token and reports its log-probability at temperature 1, which is
 * what the probabilities must then be. Throws `backend.not-finite` where the probabilities are NaN.
 */
export function chooseToken(probabilities: Float32Array, settings: SamplingSettings, uniform: number): TokenChoice {
  const { temperature, topK, topP, minP } = settings;
  const filters = (topK ?? 0) > 0 || (topP ?? 1) < 1 || (minP ?? 0) > 0;
  const choice =
    temperature === 0
      ? chooseLikeliest(probabilities)
      : filters
        ? drawFiltered(probabilities, settings, uniform)
        : draw(probabilities, uniform);
  if (!Number.isFinite(choice.logprob)) throw notFinite(temperature);
  return choice;
}

function chooseLikeliest(probabilities: Float32Array): TokenChoice {
  const id = likeliest(probabilities);
  return { id, logprob: Math.log(probabilities[id]!) };
}

/** Inverse of the cumulative distribution, in order of id. The float32 sum may miss 1 by rounding; it is divided out. */
function draw(probabilities: Float32Array, uniform: number): TokenChoice {
  let total = 0;
  for (let i = 0; i < probabilities.length; i++) total += probabilities[i]!;
  const threshold = uniform * total;
  let cumulative = 0;
  let last = 0;
  for (let i = 0; i < probabilities.length; i++) {
    const probability = probabilities[i]!;
    if (probability === 0) continue;
    cumulative += probability;
    last = i;
    if (cumulative > threshold) break;
  }
  return { id: last, logprob: Math.log(probabilities[last]!) };
}

function drawFiltered(probabilities: Float32Array, settings: SamplingSettings, uniform: number): TokenChoice {
  const kept = keptTokens(probabilities, settings);
  let total = 0;
  for (const id of kept) total += probabilities[id]!;
  const threshold = uniform * total;
  let cumulative = 0;
  let last = kept[0]!;
  for (const id of kept) {
    cumulative += probabilities[id]!;
    last = id;
    if (cumulative > threshold) break;
  }
  return { id: last, logprob: Math.log(probabilities[last]! / total) };
}

/** The ids that top-k, top-p and min-p all keep, likeliest first, never none. Ties go to the lower id. */
export function keptTokens(
  probabilities: Float32Array,
  { topK, topP, minP }: Pick<SamplingSettings, "topK" | "topP" | "minP">,
): Uint32Array {
  const peak = probabilities[likeliest(probabilities)]!;
  const floor = (minP ?? 0) * peak;
  const candidates: number[] = [];
  for (let i = 0; i < probabilities.length; i++) {
    if (probabilities[i]! > 0 && probabilities[i]! >= floor) candidates.push(i);
  }
  const sorted = Uint32Array.from(candidates).sort((a, b) => probabilities[b]! - probabilities[a]! || a - b);
  let count = topK === undefined || topK <= 0 ? sorted.length : Math.min(topK, sorted.length);
  if (topP !== undefined && topP < 1) {
    let mass = 0;
    let needed = 0;
    while (needed < count && mass < topP) mass += probabilities[sorted[needed++]!]!;
    count = Math.max(1, needed);
  }
  return sorted.subarray(0, count);
}

function likeliest(probabilities: Float32Array): number {
  let best = 0;
  for (let i = 1; i < probabilities.length; i++) if (probabilities[i]! > probabilities[best]!) best = i;
  return best;
}

function notFinite(temperature: number): LyceumError {
  return new LyceumError({
    code: "backend.not-finite",
    message: `The model's probabilities at temperature ${temperature} are not numbers.`,
    hint: "Weights that have diverged give this (lower training.learningRate), and so does a temperature near 0 (0 itself is greedy).",
  });
}
