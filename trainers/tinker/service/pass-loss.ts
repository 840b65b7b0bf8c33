import type { Datum } from "../../backend/datum.ts";
import type { LossTerm } from "../../backend/loss-term.ts";
import type { Model } from "../../backend/training-backend.ts";
import type { PassRequest, TinkerDatum } from "../protocol/pass-request.ts";
import type { PassResult } from "../protocol/pass-result.ts";
import { vector } from "../protocol/tensor.ts";
import { dro, gspo, type LinearizedLoss } from "./linearized-loss.ts";
import type { RecordedSequence } from "./recorded-sequences.ts";
import { recordedTargets } from "./recorded-targets.ts";
import { RequestError } from "./request-error.ts";

/** A loss of the Tinker API: its input tensors, its settings, and the engine's term. */
interface ServedLoss {
  readonly inputs: readonly string[];
  /** The defaults. Undefined for a setting that the client must send. */
  readonly settings: Readonly<Record<string, number | undefined>>;
  /** The engine's terms, or the loss's own derivative by the log-probabilities. */
  readonly term: ((settings: Readonly<Record<string, number>>) => readonly LossTerm[]) | LinearizedLoss;
  /** True if the loss uses the log-probabilities that the server recorded for its samples. */
  readonly recorded?: boolean;
}

const ratioInputs = ["target_tokens", "logprobs", "advantages"];

/** The thresholds are bounds of the ratio itself. The engine's are distances from 1. */
const clip = (settings: Readonly<Record<string, number>>) => ({
  clipLow: 1 - settings.clip_low_threshold!,
  clipHigh: settings.clip_high_threshold! - 1,
});

/**
 * The losses by name, with the API's formulas (https://tinker-docs.thinkingmachines.ai/tinker/losses). Each is summed
 * over tokens. Cross-entropy is the engine's `policyGradient` with the weights as advantages, because weights may have
 * any sign.
 *
 * The API does not publish the formula of `stable_reinforce`. Its documentation describes a form of REINFORCE that
 * stays stable if the sampling policy differs from the trained policy. The loss uses the records of
 * `record_stability_info` and has a setting `kl_coeff`. The formula here is this server's own. With the trained
 * log-probability l, the recorded one q and r = exp(l - q), the loss is the sum over the sampled tokens of
 *
 *     -stop(clip(r, clip_low_threshold, clip_high_threshold)) A l + kl_coeff (l - q)^2 / 2
 *
 * The first part is REINFORCE with truncated importance weights (Yao et al. 2025,
 * https://fengyao.notion.site/off-policy-rl, which uses the bound 2). The second is an estimate of the KL divergence
 * from the sampling policy (k2 of http://joschu.net/blog/kl-approx.html).
 */
const losses: Readonly<Record<string, ServedLoss>> = {
  cross_entropy: {
    inputs: ["target_tokens", "weights"],
    settings: {},
    term: () => [{ type: "policyGradient" }],
  },
  importance_sampling: { inputs: ratioInputs, settings: {}, term: () => [{ type: "importanceSampling" }] },
  ppo: {
    inputs: ratioInputs,
    settings: { clip_low_threshold: 0.8, clip_high_threshold: 1.2 },
    term: (settings) => [{ type: "ppo", ...clip(settings) }],
  },
  cispo: {
    inputs: ratioInputs,
    settings: { clip_low_threshold: 0, clip_high_threshold: 4 },
    term: (settings) => [{ type: "cispo", ...clip(settings) }],
  },
  dro: { inputs: ratioInputs, settings: { beta: undefined }, term: dro },
  gspo: {
    inputs: [...ratioInputs, "sequence_ratio_mask"],
    settings: { clip_low_threshold: undefined, clip_high_threshold: undefined },
    term: gspo,
  },
  stable_reinforce: {
    inputs: ["target_tokens", "advantages"],
    settings: { kl_coeff: 0, clip_low_threshold: 0, clip_high_threshold: 2 },
    term: (settings) => [
      { type: "cispo", ...clip(settings) },
      { type: "kl", estimator: "k2", weight: settings.kl_coeff! },
    ],
    recorded: true,
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
  readonly term: readonly LossTerm[] | LinearizedLoss;
  readonly forwardOnly: boolean;
}

/**
 * Checks a pass. `recorded` returns a recorded completion of the model's session. Throws `RequestError` 400 for unknown
 * losses and settings, and for data without an input.
 */
export function checkPass(
  { lossName, lossConfig, data, forwardOnly }: PassRequest,
  recorded: (sequenceId: string) => RecordedSequence | undefined,
): CheckedPass {
  const loss = Object.hasOwn(losses, lossName) ? losses[lossName]! : undefined;
  if (loss === undefined) {
    throw new RequestError(400, `The loss ${lossName} is not supported. Supported: ${servedLosses.join(", ")}.`);
  }
  if (data.length === 0) throw new RequestError(400, "The request has no data.");
  const settings: Record<string, number | undefined> = { ...loss.settings };
  for (const [name, value] of Object.entries(lossConfig)) {
    if (!Object.hasOwn(loss.settings, name) || !Number.isFinite(value)) {
      throw new RequestError(400, `The loss ${lossName} has no numeric setting ${name} in loss_fn_config.`);
    }
    settings[name] = value as number;
  }
  const missing = Object.keys(settings).find((name) => settings[name] === undefined);
  if (missing !== undefined)
    throw new RequestError(400, `The loss ${lossName} needs ${missing} in its loss_fn_config.`);
  const complete = settings as Readonly<Record<string, number>>;
  const inputs = data.map((datum, index) => {
    const given = inputsOf(datum, { index, loss });
    return loss.recorded === true ? withRecorded(given, { datum, index, recorded }) : given;
  });
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
  if (!forwardOnly && !("evaluate" in term)) {
    const { loss, logprobs } = await model.forwardBackward(data, term);
    return { outputs: logprobs.map((values) => ({ logprobs: vector(values) })), metrics: { "loss:sum": loss } };
  }
  const results = await model.forward(data, { outputs: ["logprobs"] });
  const outputs = results.map(({ logprobs }) => ({ logprobs: vector(logprobs!) }));
  if (forwardOnly || !("evaluate" in term)) return { outputs, metrics: {} };
  // The loss -A l has the derivative -A. With A = -derivative, it has the gradient of the other loss.
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

/**
 * Returns the tensors that a loss reads. Throws `RequestError` 400 for a missing one, a wrong length, NaN, infinity and a
 * target that is not an integer.
 */
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
    const isRight = name === "target_tokens" ? Number.isInteger : Number.isFinite;
    const wrong = tensor.data.findIndex((value) => !isRight(value));
    if (wrong >= 0) throw new RequestError(400, `Datum ${index} has ${name} of ${tensor.data[wrong]} at ${wrong}.`);
    return [name, tensor.data] as const;
  });
  return Object.fromEntries(entries);
}

/**
 * Adds the recorded log-probabilities of the targets. Throws `RequestError` 400 for an advantage of a target that was
 * not sampled.
 */
function withRecorded(
  given: Record<string, ArrayLike<number>>,
  {
    datum,
    index,
    recorded,
  }: {
    readonly datum: TinkerDatum;
    readonly index: number;
    readonly recorded: (sequenceId: string) => RecordedSequence | undefined;
  },
): Record<string, ArrayLike<number>> {
  const { logprobs, sampled } = recordedTargets(datum, { index, recorded });
  const graded = sampled.findIndex((each, t) => each === 0 && given.advantages![t] !== 0);
  if (graded >= 0) {
    throw new RequestError(400, `Datum ${index} has an advantage at ${graded}, but that target was not sampled.`);
  }
  return { ...given, logprobs, sampled };
}

function engineDatum({ tokens }: TinkerDatum, inputs: Readonly<Record<string, ArrayLike<number>>>): Datum {
  const { target_tokens: targets, logprobs, sampled } = inputs;
  const behaviourLogprobs = logprobs === undefined ? undefined : Float32Array.from(logprobs);
  return {
    tokens,
    targets: Int32Array.from(targets!),
    lossMask: sampled === undefined ? new Float32Array(tokens.length).fill(1) : Float32Array.from(sampled),
    advantages: Float32Array.from((inputs.weights ?? inputs.advantages)!),
    ...(behaviourLogprobs === undefined ? {} : { behaviourLogprobs }),
    // A loss with recorded log-probabilities measures the divergence from the sampling policy.
    ...(sampled === undefined ? {} : { referenceLogprobs: behaviourLogprobs! }),
  };
}
