import type { Datum } from "../../backend/datum.ts";
import type { LossTerm } from "../../backend/loss-term.ts";
import type { Model } from "../../backend/training-backend.ts";
import type { PassRequest, TinkerDatum } from "../protocol/pass-request.ts";
import type { PassResult } from "../protocol/pass-result.ts";
import { vector } from "../protocol/tensor.ts";
import { RequestError } from "./request-error.ts";

/** A loss of the Tinker API: the tensors that it reads, the settings that it has, and the engine's term. */
interface ServedLoss {
  readonly inputs: readonly string[];
  readonly settings: Readonly<Record<string, number>>;
  term(settings: Readonly<Record<string, number>>): LossTerm;
}

const ratioInputs = ["target_tokens", "logprobs", "advantages"];

/** The thresholds are bounds of the ratio itself. The engine's are distances from 1. */
const clip = (settings: Readonly<Record<string, number>>) => ({
  clipLow: 1 - settings.clip_low_threshold!,
  clipHigh: settings.clip_high_threshold! - 1,
});

/**
 * The losses by name, with the API's formulas (https://tinker-docs.thinkingmachines.ai/tinker/losses). Each is summed
 * over tokens. Weights and advantages may have any sign, so that cross-entropy is the engine's `policyGradient` with
 * the weights as advantages.
 */
const losses: Readonly<Record<string, ServedLoss>> = {
  cross_entropy: {
    inputs: ["target_tokens", "weights"],
    settings: {},
    term: () => ({ type: "policyGradient" }),
  },
  importance_sampling: { inputs: ratioInputs, settings: {}, term: () => ({ type: "importanceSampling" }) },
  ppo: {
    inputs: ratioInputs,
    settings: { clip_low_threshold: 0.8, clip_high_threshold: 1.2 },
    term: (settings) => ({ type: "ppo", ...clip(settings) }),
  },
  cispo: {
    inputs: ratioInputs,
    settings: { clip_low_threshold: 0, clip_high_threshold: 4 },
    term: (settings) => ({ type: "cispo", ...clip(settings) }),
  },
};

/** The names of the losses that the server computes. */
export const servedLosses: readonly string[] = Object.keys(losses);

/** A pass that can run: its data and its loss term. */
export interface CheckedPass {
  readonly data: readonly Datum[];
  readonly term: LossTerm;
  readonly forwardOnly: boolean;
}

/** Checks a pass. Throws `RequestError` 400 for unknown losses and settings, and for data without an input. */
export function checkPass({ lossName, lossConfig, data, forwardOnly }: PassRequest): CheckedPass {
  const loss = Object.hasOwn(losses, lossName) ? losses[lossName]! : undefined;
  if (loss === undefined) {
    throw new RequestError(400, `The loss ${lossName} is not supported. Supported: ${servedLosses.join(", ")}.`);
  }
  if (data.length === 0) throw new RequestError(400, "The request has no data.");
  const settings = { ...loss.settings };
  for (const [name, value] of Object.entries(lossConfig)) {
    if (!Object.hasOwn(loss.settings, name) || typeof value !== "number") {
      throw new RequestError(400, `The loss ${lossName} has no number ${name} in its loss_fn_config.`);
    }
    settings[name] = value;
  }
  return {
    data: data.map((datum, index) => engineDatum(datum, { index, loss })),
    term: loss.term(settings),
    forwardOnly,
  };
}

/** Runs a pass. The log-probabilities of all targets are in the result, also of those with the weight 0. */
export async function runPass(model: Model, { data, term, forwardOnly }: CheckedPass): Promise<PassResult> {
  if (forwardOnly) {
    const results = await model.forward(data, { outputs: ["logprobs"] });
    return { outputs: results.map(({ logprobs }) => ({ logprobs: vector(logprobs!) })), metrics: {} };
  }
  const { loss, logprobs } = await model.forwardBackward(data, [term]);
  return { outputs: logprobs.map((values) => ({ logprobs: vector(values) })), metrics: { "loss:sum": loss } };
}

function engineDatum(
  { tokens, lossInputs }: TinkerDatum,
  { index, loss }: { readonly index: number; readonly loss: ServedLoss },
): Datum {
  const read = (name: string): Float32Array | Int32Array => {
    const tensor = lossInputs[name];
    if (tensor === undefined) throw new RequestError(400, `Datum ${index} has no ${name} in loss_fn_inputs.`);
    if (tensor.data.length !== tokens.length) {
      const counts = `${tensor.data.length} ${name} and ${tokens.length} tokens`;
      throw new RequestError(400, `Datum ${index} has ${counts}. Each needs one value per token.`);
    }
    return tensor.data;
  };
  const [targets, ...numbers] = loss.inputs.map(read);
  // An optional mask of 0 and 1.
  const weights = lossInputs.mask === undefined ? undefined : read("mask");
  const scale = (values: Float32Array | Int32Array): Float32Array =>
    Float32Array.from(values, (value, t) => value * (weights?.[t] ?? 1));
  return {
    tokens,
    targets: Int32Array.from(targets!),
    lossMask: new Float32Array(tokens.length).fill(1),
    advantages: scale(numbers.at(-1)!),
    ...(numbers.length === 2 ? { behaviourLogprobs: Float32Array.from(numbers[0]!) } : {}),
  };
}
