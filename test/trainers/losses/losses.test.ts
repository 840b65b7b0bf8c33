import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type TokenInput,
  type TokenLossTerm,
  tokenLossOf,
} from "../../../trainers/backend/loss-values/token-loss-of.ts";
import { negativeEntropy } from "../negative-entropy.ts";

const terms: readonly TokenLossTerm[] = [
  { type: "crossEntropy" },
  { type: "crossEntropy", weight: -0.5 },
  { type: "policyGradient", weight: 2 },
  { type: "importanceSampling" },
  { type: "ppo", clipLow: 0.2, clipHigh: 0.28 },
  { type: "ppo", clipLow: 0.1, clipHigh: 0.3, weight: 3 },
  { type: "cispo", clipLow: 0.2, clipHigh: 0.28 },
  { type: "kl", estimator: "k1" },
  { type: "kl", estimator: "k2", weight: 0.1 },
  { type: "kl", estimator: "k3", weight: 0.7 },
];

const logprob = fc.double({ min: -6, max: -0.01, noNaN: true });
const input: fc.Arbitrary<TokenInput> = fc.record({
  logprob,
  behaviourLogprob: logprob,
  referenceLogprob: logprob,
  advantage: fc.double({ min: -4, max: 4, noNaN: true }),
  mask: fc.double({ min: 0, max: 2, noNaN: true }),
});

describe("token losses", () => {
  it.each(
    terms.map((term) => ({ name: JSON.stringify(term), term })),
  )("the derivative of $name equals finite differences", ({ term }) => {
    fc.assert(
      fc.property(input, (token) => {
        const step = 1e-5;
        if (term.type === "cispo") {
          // The clipped ratio counts as a constant.
          const { value, derivative } = tokenLossOf(term, token);
          expect(value).toBeCloseTo(derivative * token.logprob, 9);
          return;
        }
        if (term.type === "ppo") {
          const ratio = Math.exp(token.logprob - token.behaviourLogprob!);
          fc.pre(Math.abs(ratio - (1 + term.clipHigh)) > 1e-3 && Math.abs(ratio - (1 - term.clipLow)) > 1e-3);
        }
        const above = tokenLossOf(term, { ...token, logprob: token.logprob + step }).value;
        const below = tokenLossOf(term, { ...token, logprob: token.logprob - step }).value;
        const { derivative } = tokenLossOf(term, token);
        const scale = Math.max(1, Math.abs(derivative), Math.abs(above));
        expect(Math.abs((above - below) / (2 * step) - derivative) / scale).toBeLessThan(1e-6);
      }),
      { numRuns: 300 },
    );
  });

  /** Computed by hand, with ratios 2 and 1/2 by log 2. */
  const log2 = Math.log(2);
  it.each([
    { term: { type: "crossEntropy" }, token: { logprob: -3, mask: 0.5 }, value: 1.5, derivative: -0.5 },
    { term: { type: "policyGradient" }, token: { logprob: -3, advantage: 2, mask: 1 }, value: 6, derivative: -2 },
    {
      term: { type: "importanceSampling" },
      token: { logprob: -1, behaviourLogprob: -1 - log2, advantage: 3, mask: 1 },
      value: -6,
      derivative: -6,
    },
    {
      term: { type: "ppo", clipLow: 0.2, clipHigh: 0.3 },
      token: { logprob: -1, behaviourLogprob: -1 - log2, advantage: 1, mask: 1 },
      value: -1.3,
      derivative: 0,
    },
    {
      term: { type: "ppo", clipLow: 0.2, clipHigh: 0.3 },
      token: { logprob: -1, behaviourLogprob: -1 - log2, advantage: -1, mask: 1 },
      value: 2,
      derivative: 2,
    },
    {
      term: { type: "ppo", clipLow: 0.2, clipHigh: 0.3 },
      token: { logprob: -1, behaviourLogprob: -1 + log2, advantage: -1, mask: 1 },
      value: 0.8,
      derivative: 0,
    },
    {
      term: { type: "ppo", clipLow: 0.2, clipHigh: 0.3 },
      token: { logprob: -1, behaviourLogprob: -1 + log2, advantage: 1, mask: 1 },
      value: -0.5,
      derivative: -0.5,
    },
    {
      term: { type: "cispo", clipLow: 0.2, clipHigh: 0.3 },
      token: { logprob: -1, behaviourLogprob: -1 - log2, advantage: 2, mask: 1 },
      value: 2.6,
      derivative: -2.6,
    },
    {
      term: { type: "cispo", clipLow: 0.2, clipHigh: 0.3, weight: 0.5 },
      token: { logprob: -3, behaviourLogprob: -3 + log2, advantage: -1, mask: 1 },
      value: -1.2,
      derivative: 0.4,
    },
    {
      term: { type: "cispo", clipLow: 0.6, clipHigh: 0.3 },
      token: { logprob: -1, behaviourLogprob: -1 + log2, advantage: 1, mask: 1 },
      value: 0.5,
      derivative: -0.5,
    },
    {
      term: { type: "kl", estimator: "k1" },
      token: { logprob: -1, referenceLogprob: -3, mask: 0.5 },
      value: 1,
      derivative: 0.5,
    },
    {
      term: { type: "kl", estimator: "k2" },
      token: { logprob: -1, referenceLogprob: -3, mask: 0.5 },
      value: 1,
      derivative: 1,
    },
    {
      term: { type: "kl", estimator: "k3" },
      token: { logprob: -1, referenceLogprob: -1 + log2, mask: 1 },
      value: 1 - log2,
      derivative: -1,
    },
  ] satisfies {
    term: TokenLossTerm;
    token: TokenInput;
    value: number;
    derivative: number;
  }[])("$term.type of $token", ({ term, token, value, derivative }) => {
    const loss = tokenLossOf(term, token);
    expect(loss.value).toBeCloseTo(value, 12);
    expect(loss.derivative).toBeCloseTo(derivative, 12);
  });

  it("on policy, ppo, cispo and importance sampling have the policy gradient's derivative", () => {
    fc.assert(
      fc.property(input, (token) => {
        const onPolicy = { ...token, behaviourLogprob: token.logprob };
        const expected = tokenLossOf({ type: "policyGradient" }, onPolicy).derivative;
        expect(tokenLossOf({ type: "ppo", clipLow: 0.2, clipHigh: 0.2 }, onPolicy).derivative).toBe(expected);
        expect(tokenLossOf({ type: "cispo", clipLow: 0.2, clipHigh: 0.2 }, onPolicy).derivative).toBe(expected);
        expect(tokenLossOf({ type: "importanceSampling" }, onPolicy).derivative).toBe(expected);
      }),
    );
  });

  it("k2 and k3 are never negative, and every estimate is 0 if policy and reference are equal", () => {
    fc.assert(
      fc.property(input, (token) => {
        for (const estimator of ["k2", "k3"] as const) {
          expect(tokenLossOf({ type: "kl", estimator }, token).value).toBeGreaterThanOrEqual(0);
        }
        for (const estimator of ["k1", "k2", "k3"] as const) {
          const same = tokenLossOf({ type: "kl", estimator }, { ...token, referenceLogprob: token.logprob });
          expect(Math.abs(same.value)).toBe(0);
        }
      }),
    );
  });

  it("k1 and k3 average to the KL divergence under the policy", () => {
    const policy = [0.5, 0.3, 0.2];
    const reference = [0.2, 0.2, 0.6];
    const divergence = policy.reduce((sum, p, i) => sum + p * Math.log(p / reference[i]!), 0);
    for (const estimator of ["k1", "k3"] as const) {
      const average = policy.reduce((sum, p, i) => {
        const token = { logprob: Math.log(p), referenceLogprob: Math.log(reference[i]!), mask: 1 };
        return sum + p * tokenLossOf({ type: "kl", estimator }, token).value;
      }, 0);
      expect(average).toBeCloseTo(divergence, 12);
    }
  });
});

describe("negative entropy", () => {
  const logprobsOf = (logits: readonly number[]): number[] => {
    const top = Math.max(...logits);
    const total = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - top), 0)) + top;
    return logits.map((logit) => logit - total);
  };
  const logits = fc.array(fc.double({ min: -5, max: 5, noNaN: true }), { minLength: 2, maxLength: 8 });

  it("equals finite differences with respect to the logits", () => {
    fc.assert(
      fc.property(logits, (values) => {
        const { derivatives } = negativeEntropy(logprobsOf(values));
        for (const i of values.keys()) {
          const moved = (by: number): number =>
            negativeEntropy(logprobsOf(values.map((value, j) => (i === j ? value + by : value)))).value;
          expect(derivatives[i]).toBeCloseTo((moved(1e-5) - moved(-1e-5)) / 2e-5, 6);
        }
      }),
    );
  });

  it("is -log n for a uniform distribution, and 0 for a certain one", () => {
    expect(negativeEntropy(logprobsOf([1, 1, 1, 1])).value).toBeCloseTo(-Math.log(4), 12);
    const certain = negativeEntropy([0, Number.NEGATIVE_INFINITY]);
    expect(certain.value).toBe(0);
    expect([...certain.derivatives]).toEqual([0, 0]);
  });
});
