import { beforeAll, describe, expect, inject, test } from "vitest";
import type { Json } from "../../src/contract/json.ts";
import { createRandom, type Random } from "../../src/core/random/random.ts";
import { generalizedAdvantages } from "../../trainers/advantages/index.ts";
import type { Datum } from "../../trainers/backend/datum.ts";
import {
  cispo,
  importanceSampling,
  kl,
  policyGradient,
  ppo,
  type TokenInput,
  type TokenLoss,
} from "../../trainers/backend/loss-values/token-loss-of.ts";
import { valueLoss } from "../../trainers/backend/loss-values/value-loss.ts";
import { dpo } from "../../trainers/losses/dpo.ts";
import { gspo } from "../../trainers/losses/gspo.ts";
import { runPython } from "./python.ts";

/** The tolerance of values and derivatives. */
const tolerance = 1e-5;
const range = { clipLow: 0.2, clipHigh: 0.28 };

interface Reference {
  readonly value: number;
  readonly gradient: readonly number[];
}

const random = createRandom(31);
const list = (length: number, low: number, high: number, from: Random = random): number[] =>
  Array.from({ length }, () => Math.fround(low + (high - low) * from.next()));

const policyJob = {
  kind: "policy",
  logprobs: list(200, -3, -0.05),
  behaviour: list(200, -3, -0.05),
  reference: list(200, -3, -0.05),
  advantages: list(200, -2, 2),
  ...range,
};
const sequenceJobs = Array.from({ length: 60 }, () => {
  const length = random.integer(1, 12);
  const behaviour = list(length, -2, -0.1);
  const logprobs = behaviour.map((logprob) => Math.fround(logprob + 1.6 * (random.next() - 0.5)));
  return { kind: "gspo", logprobs, behaviour, advantage: Math.fround(4 * random.next() - 2), ...range };
});
const forms = ["sigmoid", "hinge", "ipo"] as const;
const preferenceJobs = Array.from({ length: 60 }, (_, i) => {
  const lengths = [random.integer(1, 9), random.integer(1, 9)] as const;
  return {
    kind: "dpo",
    form: forms[i % 3]!,
    labelSmoothing: i % 3 === 0 ? 0.1 : 0,
    beta: 0.1 + random.next(),
    chosen: list(lengths[0], -2, -0.1),
    chosenReference: list(lengths[0], -2, -0.1),
    rejected: list(lengths[1], -2, -0.1),
    rejectedReference: list(lengths[1], -2, -0.1),
  };
});
const valueJob = {
  kind: "value",
  predictions: list(200, -2, 2),
  old: list(200, -2, 2),
  returns: list(200, -2, 2),
  clip: 0.3,
};
const advantageJobs = Array.from({ length: 60 }, () => {
  const steps = random.integer(1, 20);
  return {
    kind: "advantages",
    rewards: list(steps, -1, 1),
    values: list(steps, -1, 1),
    bootstrap: random.next() < 0.5 ? 0 : random.next(),
    gamma: random.next(),
    lambda: random.next(),
  };
});

let policies: Readonly<Record<string, Reference>>;
let sequences: readonly Reference[];
let preferences: readonly Reference[];
let values: Reference;
let estimates: readonly { readonly advantages: readonly number[]; readonly returns: readonly number[] }[];

beforeAll(async () => {
  const jobs = [policyJob, valueJob, ...sequenceJobs, ...preferenceJobs, ...advantageJobs];
  const { results } = await runPython<{ results: unknown[] }>({
    environment: inject("interop").environment,
    script: "algorithm_losses",
    request: { jobs: jobs as unknown as Json },
  });
  const rest = results.slice(2);
  policies = results[0] as typeof policies;
  values = results[1] as Reference;
  sequences = rest.splice(0, sequenceJobs.length) as Reference[];
  preferences = rest.splice(0, preferenceJobs.length) as Reference[];
  estimates = rest as typeof estimates;
});

function expectClose(ours: readonly number[], theirs: readonly number[]): void {
  expect(ours).toHaveLength(theirs.length);
  for (const [i, value] of theirs.entries()) {
    expect(Math.abs(ours[i]! - value), `at ${i}: ${ours[i]} and ${value}`).toBeLessThanOrEqual(
      tolerance * Math.max(1, Math.abs(value)),
    );
  }
}

function expectSame(ours: readonly { readonly value: number; readonly derivative: number }[], theirs: Reference): void {
  expectClose(
    ours.map(({ derivative }) => derivative),
    theirs.gradient,
  );
  expectClose([ours.reduce((sum, { value }) => sum + value, 0)], [theirs.value]);
}

/** A datum in which all targets count. */
function datum(fields: {
  readonly behaviour?: readonly number[];
  readonly reference?: readonly number[];
  readonly advantage?: number;
  readonly length: number;
}): Datum {
  const { behaviour, reference, advantage = 0, length } = fields;
  return {
    tokens: new Int32Array(length),
    targets: new Int32Array(length),
    lossMask: new Float32Array(length).fill(1),
    advantages: new Float32Array(length).fill(advantage),
    ...(behaviour === undefined ? {} : { behaviourLogprobs: Float32Array.from(behaviour) }),
    ...(reference === undefined ? {} : { referenceLogprobs: Float32Array.from(reference) }),
  };
}

describe("equal PyTorch's autograd, to 1e-5", () => {
  const losses: Readonly<Record<string, (input: TokenInput) => TokenLoss>> = {
    policyGradient,
    importanceSampling,
    ppo: (input) => ppo(input, range),
    cispo: (input) => cispo(input, range),
    k1: (input) => kl(input, "k1"),
    k2: (input) => kl(input, "k2"),
    k3: (input) => kl(input, "k3"),
  };

  test.each(Object.keys(losses))("%s", (name) => {
    const ours = policyJob.logprobs.map((logprob, i) =>
      losses[name]!({
        logprob,
        behaviourLogprob: policyJob.behaviour[i]!,
        referenceLogprob: policyJob.reference[i]!,
        advantage: policyJob.advantages[i]!,
        mask: 1,
      }),
    );
    expectSame(ours, policies[name]!);
  });

  test("the clipped value loss", () => {
    const ours = valueJob.predictions.map((prediction, i) =>
      valueLoss({ prediction, target: valueJob.returns[i]!, oldPrediction: valueJob.old[i]!, mask: 1 }, valueJob.clip),
    );
    expectSame(ours, values);
  });

  test("gspo", () => {
    const clipped: boolean[] = [];
    for (const [i, { logprobs, behaviour, advantage }] of sequenceJobs.entries()) {
      const { value, derivatives, metrics } = gspo(range).evaluate({
        data: [datum({ behaviour, advantage, length: logprobs.length })],
        logprobs: [Float32Array.from(logprobs)],
        preferred: 1,
      });
      clipped.push(metrics["ratio/clip-fraction"] === 1);
      expectClose([...derivatives[0]!], sequences[i]!.gradient);
      expectClose([value], [sequences[i]!.value]);
    }
    expect(new Set(clipped)).toEqual(new Set([true, false]));
  });

  test("dpo: sigmoid with label smoothing, hinge, ipo", () => {
    for (const [i, job] of preferenceJobs.entries()) {
      const { form, beta, labelSmoothing, chosen, rejected } = job;
      const { value, derivatives } = dpo({ form, beta, labelSmoothing, referenceFree: false }).evaluate({
        data: [
          datum({ reference: job.chosenReference, length: chosen.length }),
          datum({ reference: job.rejectedReference, length: rejected.length }),
        ],
        logprobs: [Float32Array.from(chosen), Float32Array.from(rejected)],
        preferred: 1,
      });
      expectClose(
        derivatives.flatMap((part) => [...part]),
        preferences[i]!.gradient,
      );
      expectClose([value], [preferences[i]!.value]);
    }
  });
});

test("generalized advantages and value targets equal a direct evaluation of the sum", () => {
  for (const [i, job] of advantageJobs.entries()) {
    const ours = generalizedAdvantages(job);
    expectClose(ours.advantages, estimates[i]!.advantages);
    expectClose(ours.returns, estimates[i]!.returns);
  }
});
