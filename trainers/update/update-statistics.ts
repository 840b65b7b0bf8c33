import { mean, sum } from "../../src/core/statistics.ts";
import type { Datum } from "../backend/datum.ts";
import type { LossTerm } from "../backend/loss-term.ts";
import { isClipped } from "../backend/loss-values/clip-range.ts";
import type { LossResult, StepMetrics } from "../backend/training-backend.ts";
import type { Loss } from "../losses/loss.ts";

/** Collects the metrics of one update over its optimizer steps. */
export class UpdateStatistics {
  readonly #terms: readonly LossTerm[];
  readonly #sequenceLoss: string | undefined;
  readonly #learnsStates: boolean;
  readonly #lossSums: number[];
  readonly #sequenceMetrics = new Map<string, number>();
  readonly #predictions: { readonly value: number; readonly target: number }[] = [];
  #sequenceValue = 0;
  #stateValues = 0;
  #passes = 0;
  #gradientNorms = 0;
  #steps = 0;
  #tokens = 0;
  #ratioTokens = 0;
  #ratioMaximum = 0;
  #clipped = 0;
  #behaviourKl = 0;
  #referenceTokens = 0;
  #referenceKl = 0;
  #samplerKl: number | undefined;
  #stepStart = { tokens: 0, divergence: 0 };

  /** `terms` are the terms that the backend computes; see `backendTerms`. The first replaces a sequence-level loss. */
  constructor(terms: readonly LossTerm[], { sequence, stateValues }: Pick<Loss, "sequence" | "stateValues">) {
    this.#terms = terms;
    this.#sequenceLoss = sequence?.id;
    this.#learnsStates = stateValues !== undefined;
    this.#lossSums = terms.map(() => 0);
  }

  /** Begins the next optimizer step. Later additions belong to it. */
  startStep(): void {
    this.#passes += 1;
    this.#stepStart = { tokens: this.#ratioTokens, divergence: this.#behaviourKl };
  }

  /** The divergence of the policy from the policy that sampled, per token of this optimizer step. 0 without a ratio. */
  get stepDivergence(): number {
    const tokens = this.#ratioTokens - this.#stepStart.tokens;
    return tokens === 0 ? 0 : (this.#behaviourKl - this.#stepStart.divergence) / tokens;
  }

  addLoss(data: readonly Datum[], result: LossResult): void {
    for (const [i, value] of result.terms.entries()) this.#lossSums[i]! += value;
    for (const [i, datum] of data.entries()) this.#addTokens(datum, result.logprobs[i]);
  }

  /** Adds the result of a value-head loss on extra states. */
  addStateValues(data: readonly Datum[], result: LossResult): void {
    this.#stateValues += result.loss;
    for (const datum of data) for (const t of datum.lossMask.keys()) this.#addPrediction(datum, t);
  }

  /** Adds the value and metrics of a sequence-level loss on one minibatch. */
  addSequenceLoss(value: number, metrics: Readonly<Record<string, number>>): void {
    this.#sequenceValue += value;
    for (const [name, part] of Object.entries(metrics)) {
      this.#sequenceMetrics.set(name, (this.#sequenceMetrics.get(name) ?? 0) + part);
    }
  }

  addStep(step: StepMetrics): void {
    // Before the first step, the policy differs from the policy that sampled only by precision and staleness.
    this.#samplerKl ??= this.stepDivergence;
    this.#gradientNorms += step.gradientNorm;
    this.#steps += 1;
  }

  /**
   * Returns the metrics by name. `loss/*` and the gradient norm are means over optimizer steps. `kl/*` and `ratio/*`
   * are means over tokens. KL divergences are k3 estimates. A metric that does not apply, such as a ratio in SFT, is
   * absent.
   */
  metrics(): Record<string, number> {
    const metrics: Record<string, number> = {
      "optimizer/steps": this.#steps,
      "tokens/trained": this.#tokens,
    };
    if (this.#passes > 0) Object.assign(metrics, this.#losses());
    if (this.#steps > 0) metrics["optimizer/gradient-norm"] = this.#gradientNorms / this.#steps;
    if (this.#ratioTokens > 0) {
      metrics["ratio/max"] = this.#ratioMaximum;
      metrics["kl/behaviour"] = this.#behaviourKl / this.#ratioTokens;
      if (this.#samplerKl !== undefined) metrics["kl/sampler"] = this.#samplerKl;
      if (this.#terms.some(hasClipRange)) metrics["ratio/clip-fraction"] = this.#clipped / this.#ratioTokens;
    }
    if (this.#referenceTokens > 0) metrics["kl/reference"] = this.#referenceKl / this.#referenceTokens;
    for (const [name, sum] of this.#sequenceMetrics) metrics[name] = sum / this.#passes;
    const explained = explainedVariance(this.#predictions);
    if (explained !== undefined) metrics["value/explained-variance"] = explained;
    return metrics;
  }

  #losses(): Record<string, number> {
    const sums =
      this.#sequenceLoss === undefined ? [...this.#lossSums] : [this.#sequenceValue, ...this.#lossSums.slice(1)];
    const names: string[] = this.#terms.map(({ type }, i) => (i === 0 ? (this.#sequenceLoss ?? type) : type));
    if (this.#learnsStates) {
      sums.push(this.#stateValues);
      names.push("value");
    }
    const losses: Record<string, number> = { "loss/total": sum(sums) / this.#passes };
    if (names.length === 1) return losses;
    for (const [i, name] of names.entries()) {
      losses[`loss/${name}`] = (losses[`loss/${name}`] ?? 0) + sums[i]! / this.#passes;
    }
    return losses;
  }

  /** Adds the tokens of a datum. A critic gives no log-probabilities. */
  #addTokens(datum: Datum, logprobs?: Float32Array): void {
    const { lossMask, advantages, behaviourLogprobs, referenceLogprobs } = datum;
    const clipRange = this.#terms.find(hasClipRange);
    for (const [t, weight] of lossMask.entries()) {
      if (weight === 0) continue;
      this.#tokens += 1;
      this.#addPrediction(datum, t);
      if (logprobs === undefined) continue;
      const logprob = logprobs[t]!;
      if (referenceLogprobs !== undefined) {
        this.#referenceTokens += 1;
        this.#referenceKl += k3(logprob, referenceLogprobs[t]!);
      }
      // Demonstrations were not sampled. Only tokens with an advantage have a ratio.
      if (advantages === undefined || behaviourLogprobs === undefined) continue;
      const ratio = Math.exp(logprob - behaviourLogprobs[t]!);
      this.#ratioTokens += 1;
      this.#ratioMaximum = Math.max(this.#ratioMaximum, ratio);
      this.#behaviourKl += k3(behaviourLogprobs[t]!, logprob);
      if (clipRange !== undefined && isClipped(ratio, advantages[t]!, clipRange)) this.#clipped += 1;
    }
  }

  #addPrediction({ lossMask, returns, oldValues }: Datum, t: number): void {
    if (lossMask[t] === 0 || returns === undefined || oldValues === undefined || this.#passes > 1) return;
    this.#predictions.push({ value: oldValues[t]!, target: returns[t]! });
  }
}

function hasClipRange(term: LossTerm): term is Extract<LossTerm, { readonly type: "ppo" | "cispo" }> {
  return term.type === "ppo" || term.type === "cispo";
}

/**
 * Returns 1 - Var(target - value) / Var(target) of a critic's predictions before it learned from the batch. 1 is
 * perfect, 0 is no better than a constant. Returns undefined if the targets do not vary.
 */
function explainedVariance(predictions: readonly { value: number; target: number }[]): number | undefined {
  if (predictions.length < 2) return undefined;
  const total = variance(predictions.map(({ target }) => target));
  return total === 0 ? undefined : 1 - variance(predictions.map(({ value, target }) => target - value)) / total;
}

function variance(values: readonly number[]): number {
  const centre = mean(values);
  return mean(values.map((value) => (value - centre) ** 2));
}

/** Returns an estimate of KL(p, q) from the log-probabilities of a token sampled from p. */
function k3(p: number, q: number): number {
  return Math.expm1(q - p) - (q - p);
}
