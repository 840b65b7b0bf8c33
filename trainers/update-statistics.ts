import type { Datum } from "./backend/datum.ts";
import type { LossTerm } from "./backend/loss-term.ts";
import type { LossResult, StepMetrics } from "./backend/training-backend.ts";
import { isClipped } from "./losses/ppo.ts";

/** Gathers the metrics of one update over its micro-batches and optimizer steps. */
export class UpdateStatistics {
  readonly #terms: readonly LossTerm[];
  readonly #lossSums: number[];
  #loss = 0;
  #gradientNorms = 0;
  #steps = 0;
  #tokens = 0;
  #ratioTokens = 0;
  #ratioMaximum = 0;
  #clipped = 0;
  #behaviourKl = 0;
  #referenceTokens = 0;
  #referenceKl = 0;

  constructor(terms: readonly LossTerm[]) {
    this.#terms = terms;
    this.#lossSums = terms.map(() => 0);
  }

  addLoss(data: readonly Datum[], result: LossResult): void {
    this.#loss += result.loss;
    for (const [i, value] of result.terms.entries()) this.#lossSums[i]! += value;
    for (const [i, datum] of data.entries()) this.#addTokens(datum, result.logprobs[i]!);
  }

  addStep(step: StepMetrics): void {
    this.#gradientNorms += step.gradientNorm;
    this.#steps += 1;
  }

  /**
   * `loss/*` and the gradient norm are means over optimizer steps, `kl/*` and `ratio/*` over tokens. KL divergences
   * are k3 estimates. What does not exist (a ratio in supervised training) is absent.
   */
  metrics(): Record<string, number> {
    const metrics: Record<string, number> = {
      "optimizer/steps": this.#steps,
      "tokens/trained": this.#tokens,
    };
    if (this.#steps > 0) {
      metrics["loss/total"] = this.#loss / this.#steps;
      metrics["optimizer/gradient-norm"] = this.#gradientNorms / this.#steps;
      if (this.#terms.length > 1) {
        for (const [i, { type }] of this.#terms.entries()) {
          metrics[`loss/${type}`] = (metrics[`loss/${type}`] ?? 0) + this.#lossSums[i]! / this.#steps;
        }
      }
    }
    if (this.#ratioTokens > 0) {
      metrics["ratio/max"] = this.#ratioMaximum;
      metrics["kl/behaviour"] = this.#behaviourKl / this.#ratioTokens;
      if (this.#terms.some((term) => term.type === "ppo")) {
        metrics["ratio/clip-fraction"] = this.#clipped / this.#ratioTokens;
      }
    }
    if (this.#referenceTokens > 0) metrics["kl/reference"] = this.#referenceKl / this.#referenceTokens;
    return metrics;
  }

  #addTokens(datum: Datum, logprobs: Float32Array): void {
    const { lossMask, advantages, behaviourLogprobs, referenceLogprobs } = datum;
    const clipRange = this.#terms.find((term) => term.type === "ppo");
    for (const [t, weight] of lossMask.entries()) {
      if (weight === 0) continue;
      const logprob = logprobs[t]!;
      this.#tokens += 1;
      if (referenceLogprobs !== undefined) {
        this.#referenceTokens += 1;
        this.#referenceKl += k3(logprob, referenceLogprobs[t]!);
      }
      // Demonstrations were sampled by nobody: only what has an advantage has a ratio.
      if (advantages === undefined || behaviourLogprobs === undefined) continue;
      const ratio = Math.exp(logprob - behaviourLogprobs[t]!);
      this.#ratioTokens += 1;
      this.#ratioMaximum = Math.max(this.#ratioMaximum, ratio);
      this.#behaviourKl += k3(behaviourLogprobs[t]!, logprob);
      if (clipRange !== undefined && isClipped(ratio, advantages[t]!, clipRange)) this.#clipped += 1;
    }
  }
}

/** An estimate of KL(p, q) from the log-probabilities of a token sampled from p. */
function k3(p: number, q: number): number {
  return Math.expm1(q - p) - (q - p);
}
