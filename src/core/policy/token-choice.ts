import { LyceumError } from "../../contract/errors/index.ts";
import { isTruncated, type SamplingSettings } from "../../contract/sampler.ts";

/** A token and its logprob under the distribution that it was sampled from. */
export interface TokenChoice {
  readonly id: number;
  readonly logprob: number;
  /** The ids that it was sampled from, most likely first. Present if top-k, top-p or min-p is in use. */
  readonly kept?: Uint32Array;
}

/**
 * Samples a token from probabilities (the softmax of logits / temperature). `uniform` is a random number in [0, 1).
 * Top-k, top-p and min-p each apply to the given distribution. Tokens that all of them keep are renormalized.
 * Temperature 0 takes the most likely token and reports its log-probability at temperature 1, so `probabilities` must
 * be those at temperature 1 then. Throws `backend.not-finite` if the probabilities are NaN.
 */
export function chooseToken(probabilities: Float32Array, settings: SamplingSettings, uniform: number): TokenChoice {
  const { temperature } = settings;
  const choice =
    temperature === 0
      ? chooseLikeliest(probabilities)
      : isTruncated(settings)
        ? drawFiltered(probabilities, settings, uniform)
        : draw(probabilities, uniform);
  if (!Number.isFinite(choice.logprob)) throw notFinite(temperature);
  return choice;
}

function chooseLikeliest(probabilities: Float32Array): TokenChoice {
  const id = likeliest(probabilities);
  return { id, logprob: Math.log(probabilities[id]!) };
}

/** The number of tokens whose probabilities are summed as one block to find the sampled token. */
const tokensPerBlock = 256;

/**
 * Samples by the inverse of the cumulative distribution, in id order. Divides by the sum, because rounding in float32
 * may move it away from 1.
 */
function draw(probabilities: Float32Array, uniform: number): TokenChoice {
  const sums = blockSums(probabilities);
  const total = sums.reduce((sum, value) => sum + value, 0);
  const block = crossing(sums, uniform * total);
  const first = block.index * tokensPerBlock;
  const { index } = crossing(probabilities.subarray(first, first + tokensPerBlock), uniform * total - block.before);
  return { id: first + index, logprob: Math.log(probabilities[first + index]!) };
}

function blockSums(values: Float32Array): Float64Array {
  const sums = new Float64Array(Math.ceil(values.length / tokensPerBlock));
  for (let block = 0; block < sums.length; block++) {
    const end = Math.min((block + 1) * tokensPerBlock, values.length);
    let even = 0;
    let odd = 0;
    let i = block * tokensPerBlock;
    // Two accumulators, so that an addition does not wait for the previous one.
    for (; i + 1 < end; i += 2) {
      even += values[i]!;
      odd += values[i + 1]!;
    }
    sums[block] = even + odd + (i < end ? values[i]! : 0);
  }
  return sums;
}

/**
 * Finds the value at which the running sum exceeds a threshold, and the sum before it. If rounding prevents that,
 * returns the last nonzero value.
 */
function crossing(
  values: Float32Array | Float64Array,
  threshold: number,
): { readonly index: number; readonly before: number } {
  let sum = 0;
  let before = 0;
  let index = 0;
  for (let i = 0; i < values.length && sum <= threshold; i++) {
    if (values[i] === 0) continue;
    index = i;
    before = sum;
    sum += values[i]!;
  }
  return { index, before };
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
  return { id: last, logprob: Math.log(probabilities[last]! / total), kept };
}

/** Returns the ids that top-k, top-p and min-p all keep, most likely first, at least one. Ties go to the lower id. */
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
    hint: "The weights may have diverged (lower training.learningRate), or the temperature is too close to 0 (use 0 for greedy sampling).",
  });
}
