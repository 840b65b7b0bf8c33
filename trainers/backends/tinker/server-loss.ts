import type { Datum } from "../../backend/datum.ts";
import type { LossTerm } from "../../backend/loss-term.ts";
import { type TokenLossTerm, tokenLossOf } from "../../backend/loss-values/token-loss-of.ts";
import type { TinkerDatum } from "../../tinker/protocol/pass-request.ts";
import { vector } from "../../tinker/protocol/tensor.ts";
import type { GradientRule } from "./gradient-rule.ts";

/** The name and the settings of a server's loss. Every threshold is set, because defaults differ between servers. */
export interface ServerLoss {
  readonly name: "cross_entropy" | "importance_sampling" | "ppo" | "cispo";
  readonly config?: Readonly<Record<string, number>>;
}

/** How loss terms are computed on a server. */
export interface LossPlan {
  readonly loss: ServerLoss;
  /** True if the data need the current log-probabilities, from a forward pass before. */
  readonly needsLogprobs: boolean;
  /** Returns a datum for the server. `count` is the number of data of the whole pass. */
  encode(datum: Datum, options: { readonly count: number; readonly logprobs?: Float32Array | undefined }): TinkerDatum;
}

/** A server's losses and the rule for their gradient. */
export interface ServerLosses {
  readonly rule: GradientRule;
  readonly has: (name: string) => boolean;
}

/**
 * Plans how a server computes the gradient of the sum of loss terms.
 *
 * One term that the server has is computed there: its weight multiplies the advantages, which is exact for a positive
 * weight. Everything else is a loss L of the sampled tokens' log-probabilities l_t. Its gradient is
 * sum_t (dL/dl_t) grad l_t, so that a loss whose derivative by l_t is the number g_t = dL/dl_t at the current weights has
 * the same gradient. A forward pass gives l_t, the client computes g_t, and the server gets one of these losses:
 *
 * - cross-entropy with weights -g_t: -sum w_t l_t has the derivative -w_t = g_t.
 * - CISPO with both thresholds at 1 and advantages -g_t: the clipped ratio is 1 for all tokens, so that the loss is
 *   -sum A_t l_t, with the derivative -A_t = g_t.
 * - importance sampling with advantages -g_t, and the current l_t as the sampler's: the ratio is exp(l_t - q_t) = 1, so
 *   that the derivative of -sum exp(l_t - q_t) A_t is -A_t = g_t.
 *
 * A server of the rule `mean` divides each sequence by the sum of its weights, and the sum by the number of sequences.
 * Scaling the weights of its cross-entropy changes nothing then, so that CISPO or importance sampling is used, with
 * weights of 1 and advantages times (trained tokens of the sequence) times (sequences of the step).
 */
export function planLoss(terms: readonly LossTerm[], server: ServerLosses): LossPlan {
  const [term] = terms;
  if (terms.length === 1 && (term!.weight ?? 1) > 0) {
    const native = nativePlan(term!, server);
    if (native !== undefined) return { ...native, needsLogprobs: false };
  }
  const tokenTerms = terms as readonly TokenLossTerm[];
  const wanted: Advantage = (datum, t, logprob) =>
    -tokenTerms.reduce((sum, each) => sum + tokenLossOf(each, tokenInput(datum, t, logprob)).derivative, 0);
  return { ...linearPlan(wanted, server), needsLogprobs: true };
}

type Encoding = Omit<LossPlan, "needsLogprobs">;

/** The value that multiplies the log-probability, or the ratio, of target t. */
type Advantage = (datum: Datum, t: number, logprob: number) => number;

/** Plans a term without a forward pass before. Undefined if the server has no loss for it. */
function nativePlan(term: LossTerm, server: ServerLosses): Encoding | undefined {
  const weight = term.weight ?? 1;
  const scaled: Advantage = ({ advantages }, t) => (advantages?.[t] ?? 0) * weight;
  if (term.type === "crossEntropy" || term.type === "policyGradient") {
    if (server.rule === "mean" && !server.has("cispo")) return undefined;
    return linearPlan(term.type === "policyGradient" ? scaled : ({ lossMask }, t) => lossMask[t]! * weight, server);
  }
  if (term.type === "importanceSampling") return ratioPlan({ name: "importance_sampling" }, scaled, server);
  if ((term.type !== "ppo" && term.type !== "cispo") || !server.has(term.type)) return undefined;
  const config = { clip_low_threshold: 1 - term.clipLow, clip_high_threshold: 1 + term.clipHigh };
  return ratioPlan({ name: term.type, config }, scaled, server);
}

/** Plans a weighted sum of log-probabilities. Importance sampling needs the current ones. */
function linearPlan(wanted: Advantage, server: ServerLosses): Encoding {
  if (server.rule === "mean") {
    const config = { clip_low_threshold: 1, clip_high_threshold: 1 };
    const loss: ServerLoss = server.has("cispo") ? { name: "cispo", config } : { name: "importance_sampling" };
    return ratioPlan(loss, wanted, server, "current");
  }
  const weights = (datum: Datum, logprobs?: Float32Array) =>
    perTarget(datum, (t) => wanted(datum, t, logprobs?.[t] ?? 0));
  return {
    loss: { name: "cross_entropy" },
    encode: (datum, { logprobs }) => encoded(datum, { weights: weights(datum, logprobs) }),
  };
}

/** Plans a loss of advantages and log-probabilities: those of the policy that sampled, or the current ones. */
function ratioPlan(
  loss: ServerLoss,
  wanted: Advantage,
  { rule }: ServerLosses,
  sampler: "behaviour" | "current" = "behaviour",
): Encoding {
  return {
    loss,
    encode: (datum, { count, logprobs }) => {
      const scale = rule === "mean" ? trainedTargets(datum) * count : 1;
      const advantages = perTarget(datum, (t) => scale * wanted(datum, t, logprobs?.[t] ?? 0));
      const given = sampler === "behaviour" ? datum.behaviourLogprobs : logprobs;
      const inputs = { logprobs: perTarget(datum, (t) => given?.[t] ?? 0), advantages };
      return encoded(datum, rule === "sum" ? inputs : { ...inputs, weights: perTarget(datum, () => 1) });
    },
  };
}

function encoded({ tokens, targets }: Datum, inputs: Readonly<Record<string, Float32Array>>): TinkerDatum {
  const tensors = Object.entries(inputs).map(([name, values]) => [name, vector(values)] as const);
  return { tokens, lossInputs: { target_tokens: vector(targets), ...Object.fromEntries(tensors) } };
}

/** Returns one value per target, 0 where the loss mask is 0. */
function perTarget({ lossMask }: Datum, value: (t: number) => number): Float32Array {
  return lossMask.map((mask, t) => (mask === 0 ? 0 : value(t)));
}

/** Returns the number of targets whose loss mask is not 0. */
export function trainedTargets({ lossMask }: Datum): number {
  return lossMask.reduce((count, mask) => (mask === 0 ? count : count + 1), 0);
}

function tokenInput(datum: Datum, t: number, logprob: number) {
  return {
    logprob,
    behaviourLogprob: datum.behaviourLogprobs?.[t],
    referenceLogprob: datum.referenceLogprobs?.[t],
    advantage: datum.advantages?.[t],
    mask: datum.lossMask[t]!,
  };
}

/** Returns the values of loss terms over data, from the log-probabilities that the server returned. */
export function termValues(
  terms: readonly LossTerm[],
  data: readonly Datum[],
  logprobs: readonly Float32Array[],
): number[] {
  return terms.map((term) => {
    let sum = 0;
    for (const [i, datum] of data.entries()) {
      for (const [t, mask] of datum.lossMask.entries()) {
        if (mask !== 0) sum += tokenLossOf(term as TokenLossTerm, tokenInput(datum, t, logprobs[i]![t]!)).value;
      }
    }
    return sum;
  });
}
