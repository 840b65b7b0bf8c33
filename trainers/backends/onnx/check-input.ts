import { LyceumError } from "../../../src/errors/index.ts";
import type { SampleRequest } from "../../../src/policy/sampler.ts";
import type { Datum } from "../../backend/datum.ts";

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
] as const;

/** Refuses data that the engine could only misread: arrays of unlike lengths, ids beyond the vocabulary. */
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
    const temperature = datum.temperature ?? 1;
    if (!(temperature > 0)) throw refuse(`Datum ${index} has the temperature ${temperature}`);
  }
}

/** Refuses requests that cannot be sampled. */
export function checkRequests(requests: readonly SampleRequest[], limits: Limits): void {
  for (const [index, { promptIds, settings }] of requests.entries()) {
    if (promptIds.length === 0) throw refuse(`Sample request ${index} has an empty prompt`);
    if (promptIds.length >= limits.maxLength) {
      throw tooLong(`The prompt of sample request ${index} has ${promptIds.length} tokens`, limits);
    }
    checkIds(promptIds, limits, `The prompt of sample request ${index}`);
    if (!(settings.maxTokens >= 1)) throw refuse(`Sample request ${index} asks for ${settings.maxTokens} tokens`);
    if (!(settings.temperature >= 0))
      throw refuse(`Sample request ${index} has the temperature ${settings.temperature}`);
  }
}

function checkIds(ids: ArrayLike<number>, { vocabularySize }: Limits, what: string): void {
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i]!;
    if (!Number.isInteger(id) || id < 0 || id >= vocabularySize) {
      throw refuse(`${what} has the token id ${id}; the vocabulary has ${vocabularySize} ids`);
    }
  }
}

function refuse(what: string): LyceumError {
  return new LyceumError({
    code: "policy.unsupported-input",
    message: `${what}.`,
    hint: "Build data with datumFromIds from the ids that were sampled.",
  });
}

function tooLong(what: string, { maxLength }: Limits): LyceumError {
  return new LyceumError({
    code: "policy.unsupported-input",
    message: `${what}; the model takes ${maxLength} at most.`,
    hint: "Shorten the prompt, lower sampling.maxTokens, or limit the turns of an episode.",
  });
}
