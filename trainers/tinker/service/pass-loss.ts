import type { Datum } from "../../backend/datum.ts";
import type { LossTerm } from "../../backend/loss-term.ts";
import type { Model } from "../../backend/training-backend.ts";
import type { PassRequest, TinkerDatum } from "../protocol/pass-request.ts";
import type { PassResult } from "../protocol/pass-result.ts";
import { vector } from "../protocol/tensor.ts";
import { dro, gspo, type LinearizedLoss } from "./linearized-loss.ts";
import { RequestError } from "./request-error.ts";

/** A loss of the Tinker API: the tensors that it reads, the settings that it has, and the engine's term. */
interface ServedLoss {
  readonly inputs: readonly string[];
  /** The defaults. Undefined for a setting that the client must send. */
  readonly settings: Readonly<Record<string, number | undefined>>;
  /** The engine's term, or the loss's own derivative by the log-probabilities. */
  readonly term: ((settings: Readonly<Record<string, number>>) => LossTerm) | LinearizedLoss;
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
  dro: { inputs: ratioInputs, settings: { beta: undefined }, term: dro },
  gspo: {
    inputs: [...ratioInputs, "sequence_ratio_mask"],
    settings: { clip_low_threshold: undefined, clip_high_threshold: undefined },
    term: gspo,
  },
};

/** The names of the losses that the server computes. */
export const servedLosses: readonly string[] = Object.keys(losses);

/** A pass that can run: its data and its loss term. */
export interface CheckedPass {
  readonly data: readonly Datum[];
  /** The tensors of each datum by name. */
  readonly inputs: readonly Readonly<Record<string, ArrayLike<number>>>[];
  readonly settings: Readonly<Record<string, number>>;
  readonly term: LossTerm | LinearizedLoss;
  readonly forwardOnly: boolean;
}

/** Checks a pass. Throws `RequestError` 400 for unknown losses and settings, and for data without an input. */
export function checkPass({ lossName, lossConfig, data, forwardOnly }: PassRequest): CheckedPass {
  const loss = Object.hasOwn(losses, lossName) ? losses[lossName]! : undefined;
  if (loss === undefined) {
    throw new RequestError(400, `The loss ${lossName} is not supported. Supported: ${servedLosses.join(", ")}.`);
  }
  if (data.length === 0) throw new RequestError(400, "The request has no data.");
  const settings: Record<string, number | undefined> = { ...loss.settings };
  for (const [name, value] of Object.entries(lossConfig)) {
    if (!Object.hasOwn(loss.settings, name) || typeof value !== "number") {
      throw new RequestError(400, `The loss ${lossName} has no number ${name} in its loss_fn_config.`);
    }
    settings[name] = value;
  }
  const missing = Object.keys(settings).find((name) => settings[name] === undefined);
  if (missing !== undefined)
    throw new RequestError(400, `The loss ${lossName} needs ${missing} in its loss_fn_config.`);
  const complete = settings as Readonly<Record<string, number>>;
  const inputs = data.map((datum, index) => inputsOf(datum, { index, loss }));
  return {
    data: data.map((datum, index) => engineDatum(datum, inputs[index]!)),
    inputs,
    settings: complete,
    term: typeof loss.term === "function" ? loss.term(complete) : loss.term,
    forwardOnly,
  };
}

/** Runs a pass. The log-probabilities of all targets are in the result, also of those with the weight 0. */
export async function runPass(
  model: Model,
  { data, inputs, settings, term, forwardOnly }: CheckedPass,
): Promise<PassResult> {
  if (!forwardOnly && "type" in term) {
    const { loss, logprobs } = await model.forwardBackward(data, [term]);
    return { outputs: logprobs.map((values) => ({ logprobs: vector(values) })), metrics: { "loss:sum": loss } };
  }
  const results = await model.forward(data, { outputs: ["logprobs"] });
  const outputs = results.map(({ logprobs }) => ({ logprobs: vector(logprobs!) }));
  if (forwardOnly || "type" in term) return { outputs, metrics: {} };
  // A loss of -A l has the derivative -A, so that it has the same gradient with A = -derivative.
  let loss = 0;
  const linear = data.map((datum, i) => {
    const { value, derivative } = term.evaluate({
      datum,
      logprobs: results[i]!.logprobs!,
      inputs: inputs[i]!,
      settings,
    });
    loss += value;
    return { ...datum, advantages: derivative.map((each) => -each) };
  });
  await model.forwardBackward(linear, [{ type: "policyGradient" }]);
  return { outputs, metrics: { "loss:sum": loss } };
}

/** Returns the tensors that a loss reads. Throws `RequestError` 400 for a missing one and for a wrong length. */
function inputsOf(
  { tokens, lossInputs }: TinkerDatum,
  { index, loss }: { readonly index: number; readonly loss: ServedLoss },
): Record<string, ArrayLike<number>> {
  const entries = loss.inputs.map((name) => {
    const tensor = lossInputs[name];
    if (tensor === undefined) throw new RequestError(400, `Datum ${index} has no ${name} in loss_fn_inputs.`);
    if (tensor.data.length !== tokens.length) {
      const counts = `${tensor.data.length} ${name} and ${tokens.length} tokens`;
      throw new RequestError(400, `Datum ${index} has ${counts}. Each needs one value per token.`);
    }
    return [name, tensor.data] as const;
  });
  return Object.fromEntries(entries);
}

function engineDatum({ tokens }: TinkerDatum, inputs: Readonly<Record<string, ArrayLike<number>>>): Datum {
  const { target_tokens: targets, logprobs } = inputs;
  return {
    tokens,
    targets: Int32Array.from(targets!),
    lossMask: new Float32Array(tokens.length).fill(1),
    advantages: Float32Array.from((inputs.weights ?? inputs.advantages)!),
    ...(logprobs === undefined ? {} : { behaviourLogprobs: Float32Array.from(logprobs) }),
  };
}
