import { LyceumError, unknownNameError } from "../../../src/contract/errors/index.ts";
import type { SampleRequest, SamplingSettings, ScoreRequest } from "../../../src/contract/sampler.ts";
import { supportProblem } from "../../../src/contract/token-support.ts";
import type { Datum } from "../../backend/datum.ts";
import type { LossTerm } from "../../backend/loss-term.ts";
import type { ForwardOutput } from "../../backend/training-backend.ts";

interface Limits {
  readonly maxLength: number;
  readonly vocabularySize: number;
}

const perToken = [
  "targets",
  "lossMask",
  "advantages",
  "behaviourLogprobs",
  "referenceLogprobs",
  "oldValues",
  "returns",
  "supports",
] as const;

/**
 * Checks data before the engine reads it. Throws `policy.unsupported-input` for arrays of different lengths and for
 * token ids outside the vocabulary.
 */
export function checkData(data: readonly Datum[], limits: Limits): void {
  for (const [index, datum] of data.entries()) {
    const { length } = datum.tokens;
    for (const name of perToken) {
      const found = datum[name]?.length ?? length;
      if (found !== length) throw refuse(`Datum ${index} has ${length} tokens and ${found} ${name}`);
    }
    if (length === 0) throw refuse(`Datum ${index} has no tokens`);
    if (length > limits.maxLength) throw tooLong(`Datum ${index} has ${length} tokens`, limits);
    checkIds(datum.tokens, limits, `Datum ${index}`);
    checkIds(datum.targets, limits, `Datum ${index}`);
    checkSupports(datum, limits, `Datum ${index}`);
    const temperature = datum.temperature ?? 1;
    if (!(temperature > 0)) throw refuse(`Datum ${index} has the temperature ${temperature}`);
  }
}

/** The arrays of a datum that each loss term reads, in addition to targets and loss mask. */
const readByTerm: Readonly<Record<LossTerm["type"], readonly (typeof perToken)[number][]>> = {
  crossEntropy: [],
  policyGradient: ["advantages"],
  importanceSampling: ["advantages", "behaviourLogprobs"],
  ppo: ["advantages", "behaviourLogprobs"],
  cispo: ["advantages", "behaviourLogprobs"],
  kl: ["referenceLogprobs"],
  entropy: [],
  value: ["returns"],
};

/** The loss terms that the engine computes. */
export const lossTypes: readonly LossTerm["type"][] = Object.keys(readByTerm) as LossTerm["type"][];

/**
 * Throws `backend.unsupported` for loss terms that the engine or the model cannot compute, and
 * `policy.unsupported-input` for data that lacks an input of a term.
 */
export function checkTerms(data: readonly Datum[], terms: readonly LossTerm[], valueHead: boolean): void {
  for (const term of terms) {
    const { type } = term;
    if (!Object.hasOwn(readByTerm, type)) {
      throw unknownNameError({ kind: "loss term", name: type, known: lossTypes, code: "backend.unsupported" });
    }
    if (type === "value" && !valueHead) throw noValueHead();
    const clipped = type === "value" && term.clip !== undefined;
    for (const name of [...readByTerm[type], ...(clipped ? (["oldValues"] as const) : [])]) {
      const index = data.findIndex((datum) => datum[name] === undefined);
      if (index !== -1) throw refuse(`Datum ${index} has no ${name}, which the loss term "${type}" reads`);
    }
  }
}

/** Throws `backend.unsupported` if values are requested from a model without a value head. */
export function checkOutputs(outputs: readonly ForwardOutput[], valueHead: boolean): void {
  if (outputs.includes("values") && !valueHead) throw noValueHead();
}

/** Throws `policy.unsupported-input` for requests that cannot be sampled. */
export function checkRequests(requests: readonly SampleRequest[], limits: Limits): void {
  for (const [index, { promptIds, settings, seed, topLogprobs = 0 }] of requests.entries()) {
    const what = `Sample request ${index}`;
    if (promptIds.length === 0) throw refuse(`${what} has an empty prompt`);
    if (promptIds.length >= limits.maxLength) {
      throw tooLong(`The prompt of sample request ${index} has ${promptIds.length} tokens`, limits);
    }
    checkIds(promptIds, limits, `The prompt of sample request ${index}`);
    if (!Number.isFinite(seed)) throw refuseSetting(`${what} has the seed ${seed}`);
    checkSettings(settings, what);
    checkTopK(topLogprobs, limits);
  }
}

/** Throws `policy.unsupported-input` for sequences that cannot be scored. */
export function checkScore({ ids, last = ids.length - 1, topK = 0, targets = [] }: ScoreRequest, limits: Limits): void {
  if (ids.length > limits.maxLength) throw tooLong(`The sequence to score has ${ids.length} tokens`, limits);
  checkIds(ids, limits, "The sequence to score");
  if (!Number.isInteger(last) || last < 1 || last >= ids.length) {
    throw refuse(`${last} ids are to be scored of a sequence of ${ids.length}, whose first id has no score`);
  }
  checkTopK(topK, limits);
  if (targets.length > last) throw refuse(`${targets.length} lists of targets are given for ${last} scored ids`);
  for (const ids of targets) checkIds(ids, limits, "The list of targets");
}

function checkTopK(topK: number, { vocabularySize }: Limits): void {
  if (Number.isInteger(topK) && topK >= 0 && topK <= vocabularySize) return;
  throw refuse(`${topK} most likely ids are asked for, but the vocabulary has ${vocabularySize}`);
}

function checkSettings({ temperature, maxTokens, topK, topP, minP, stop }: SamplingSettings, what: string): void {
  const isFraction = (value: number): boolean => value >= 0 && value <= 1;
  const checks: readonly (readonly [string, boolean])[] = [
    [`the temperature ${temperature}`, temperature >= 0 && temperature < Infinity],
    [`maxTokens ${maxTokens}`, maxTokens === Infinity || (Number.isInteger(maxTokens) && maxTokens >= 1)],
    [`topK ${topK}`, topK === undefined || (Number.isInteger(topK) && topK >= 0)],
    [`topP ${topP}`, topP === undefined || isFraction(topP)],
    [`minP ${minP}`, minP === undefined || isFraction(minP)],
    ["an empty stop string", stop?.includes("") !== true],
  ];
  for (const [setting, isRight] of checks) if (!isRight) throw refuseSetting(`${what} has ${setting}`);
}

function checkIds(ids: ArrayLike<number>, { vocabularySize }: Limits, what: string): void {
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i]!;
    if (!Number.isInteger(id) || id < 0 || id >= vocabularySize) {
      throw refuse(`${what} has the token id ${id}, but the vocabulary has ${vocabularySize} ids`);
    }
  }
}

/** Checks only the supports of targets with a nonzero loss mask: the others are not read. */
function checkSupports({ targets, lossMask, supports }: Datum, { vocabularySize }: Limits, what: string): void {
  for (const [t, support] of supports?.entries() ?? []) {
    const problem = lossMask[t] === 0 ? undefined : supportProblem(support, targets[t]!, vocabularySize);
    if (problem !== undefined) throw refuse(`The support of target ${t} of ${what.toLowerCase()} ${problem}`);
  }
}

function noValueHead(): LyceumError {
  return new LyceumError({
    code: "backend.unsupported",
    message: "This model has no value head, so it cannot compute or learn values.",
    hint: "Open it with valueHead: true.",
  });
}

function refuse(what: string): LyceumError {
  return new LyceumError({
    code: "policy.unsupported-input",
    message: `${what}.`,
    hint: "Build data with datumFromIds from the ids that were sampled.",
  });
}

function refuseSetting(what: string): LyceumError {
  return new LyceumError({
    code: "policy.unsupported-input",
    message: `${what}.`,
    hint: "Give a finite seed, temperature from 0, maxTokens from 1, topP and minP from 0 to 1, and stop strings that are not empty.",
  });
}

function tooLong(what: string, { maxLength }: Limits): LyceumError {
  return new LyceumError({
    code: "policy.unsupported-input",
    message: `${what}, but the model accepts at most ${maxLength}.`,
    hint: "Shorten the prompt, lower sampling.maxTokens, or limit the turns of an episode.",
  });
}
