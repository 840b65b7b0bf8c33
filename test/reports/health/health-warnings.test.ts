import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HealthCheck } from "../../../reports/health/index.ts";
import { createRandom, type Random } from "../../../src/core/random/random.ts";
import { evaluation, healthEvents, healthy, stepEvent, steps, warningsOf } from "./runs.ts";

/** Rises from 0 to 1 between two steps, and is constant before and after. */
const between = (step: number, from: number, to: number): number =>
  Math.min(1, Math.max(0, (step - from) / (to - from)));

describe("a healthy run", () => {
  it("has no warnings for any constant metrics within the thresholds", () => {
    const metrics = fc.record({
      "reward/mean": fc.double({ min: -5, max: 5, noNaN: true }),
      "reward/component/correct": fc.double({ min: -5, max: 5, noNaN: true }),
      "kl/behaviour": fc.double({ min: 0, max: 0.04, noNaN: true }),
      "entropy/sampled": fc.double({ min: 0.03, max: 9, noNaN: true }),
      "groups/without-signal": fc.double({ min: 0, max: 0.75, noNaN: true }),
      "groups/duplicates": fc.double({ min: 0, max: 0.45, noNaN: true }),
      "episodes/unscored": fc.double({ min: 0, max: 0.04, noNaN: true }),
      "length/cut-off": fc.double({ min: 0, max: 0.2, noNaN: true }),
      "length/completion-mean": fc.double({ min: 1, max: 4000, noNaN: true }),
    });
    fc.assert(
      fc.property(metrics, fc.double({ min: 0, max: 1, noNaN: true }), (constant, score) => {
        const run = steps(40, () => constant).flatMap((step) =>
          step.step % 5 === 0 ? [step, evaluation(step.step, score)] : [step],
        );
        expect(warningsOf(run)).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });

  it("has no warnings for noise: 20 runs of 300 steps that vary by a quarter", () => {
    for (let seed = 0; seed < 20; seed++) {
      const run = steps(300, () => ({ "length/cut-off": 0.1 }), { seed, share: 0.25 });
      expect(warningsOf(run).map(({ message }) => message)).toEqual([]);
    }
  });

  it("has no warnings while it learns: reward and score rise, entropy and length fall, groups are solved", () => {
    const run = steps(
      300,
      (step) => {
        const learnt = between(step, 20, 250);
        return {
          "reward/mean": 0.1 + 0.88 * learnt,
          "reward/component/correct": 0.1 + 0.83 * learnt,
          "entropy/sampled": 1.2 - 1.195 * learnt,
          "groups/without-signal": 0.2 + 0.78 * learnt,
          "groups/solved": 0.97 * learnt,
          "groups/duplicates": 0.9 * learnt,
          "length/completion-mean": 200 - 120 * learnt,
        };
      },
      { seed: 3, share: 0.02 },
    );
    const withEvaluations = run.flatMap((step) =>
      step.step % 25 === 0 ? [step, evaluation(step.step, 0.1 + 0.85 * between(step.step, 20, 250))] : [step],
    );
    expect(warningsOf(withEvaluations)).toEqual([]);
  });

  it("is not checked before a window is full, or if a metric does not exist", () => {
    expect(warningsOf(steps(9, () => ({ "episodes/unscored": 1 })))).toEqual([]);
    const bare = steps(50).map((step) => ({ ...step, metrics: { "loss/total": 1 } }));
    expect(warningsOf(bare)).toEqual([]);
  });
});

describe("each trouble has a warning with its name at its threshold", () => {
  const troubles: [HealthCheck, Record<string, (step: number) => number>, RegExp][] = [
    ["sampler-kl", { "kl/behaviour": () => 0.2 }, /KL divergence .* is 0\.2 nats per token/],
    ["entropy-low", { "entropy/sampled": (step) => (step < 30 ? 0.6 : 0.001) }, /entropy fell to/],
    ["entropy-high", { "entropy/sampled": (step) => (step < 30 ? 0.6 : 2.5) }, /entropy rose from 0\.6/],
    ["without-signal", { "groups/without-signal": () => 0.95 }, /^95\.0% of the unsolved groups have no signal/],
    ["truncation", { "length/cut-off": () => 0.5 }, /50\.0% of the completions or episodes are cut off/],
    ["truncation", { "episodes/truncated": () => 0.5 }, /50\.0% of the completions or episodes are cut off/],
    ["length", { "length/completion-mean": (step) => 100 + 2 * step }, /grew from 111 to/],
    ["length", { "length/completion-mean": (step) => (step < 30 ? 120 : 20) }, /shrank from 120 to/],
    ["component-fall", { "reward/component/format": (step) => 0.2 - 0.15 * between(step, 20, 60) }, /"format" fell/],
    // Small next to the spread of the rewards.
    [
      "component-fall",
      { "reward/std": () => 1, "reward/component/format": (step) => (step < 40 && step % 6 > 0 ? 0.3 : 0) },
      /"format" fell from 0\.2\d* .* to 0:/,
    ],
    ["component-fall", { "reward/mean": (step) => 0.8 - 0.7 * between(step, 20, 60) }, /^The reward fell from 0\.8/],
    ["duplicates", { "groups/duplicates": () => 0.8 }, /80\.0% of the episodes repeat another episode/],
    [
      "malformed-calls",
      { "tools/malformed": () => 0.4 },
      /^40\.0% of the tool calls cannot be parsed .* \(algorithm: sft\)/,
    ],
    [
      "unused-tools",
      { "tools/calls-mean": (step) => (step < 30 ? 1 : 0.01) },
      /^The model may call tools, but makes 0\.\d+ calls/,
    ],
    ["unscored", { "episodes/unscored": () => 0.2 }, /20\.0% of the episodes could not be scored/],
  ];
  it.each(troubles)("%s", (check, planted, words) => {
    const metrics = (step: number) => Object.fromEntries(Object.entries(planted).map(([name, at]) => [name, at(step)]));
    const solved: Record<string, number> = check === "without-signal" ? { "groups/solved": 0 } : {};
    const spread: Record<string, number> = check === "component-fall" ? { "reward/std": 0.1 } : {};
    const run = steps(100, (step) => ({ ...solved, ...spread, ...metrics(step) }), { seed: 2, share: 0.001 });
    const rounded = run.map((step) => ({ ...step, metrics: { ...step.metrics, ...metrics(step.step) } }));
    const warnings = warningsOf(rounded);
    expect(warnings.map((warning) => warning.check)).toEqual([check]);
    expect(warnings[0]!.message).toMatch(words);
    expect(warningsOf(rounded, { ignore: [check] })).toEqual([]);
  });

  it.each([
    ["is seldom earned", (random: Random) => (random.next() < 0.1 ? 0.3 : 0)],
    ["is often earned", (random: Random) => (random.next() < 0.5 ? 0.3 : 0)],
    ["is around 0", (random: Random) => random.next() - 0.5],
  ])("does not miss a component that %s", (_, value) => {
    const missed = Array.from({ length: 20 }, (_, seed) => {
      const random = createRandom(seed);
      const planted = steps(200, () => ({ "reward/std": 1 })).map((event) => ({
        ...event,
        metrics: { ...event.metrics, "reward/component/format": value(random) },
      }));
      return warningsOf(planted).length;
    });
    expect(missed.filter((count) => count > 0)).toEqual([]);
  });

  it("moves with the threshold", () => {
    const run = steps(30, () => ({ "episodes/unscored": 0.1 }));
    expect(warningsOf(run)).toHaveLength(1);
    expect(warningsOf(run, { unscored: 0.15 })).toEqual([]);
    expect(
      warningsOf(
        steps(30, () => ({ "length/cut-off": 0.15 })),
        { truncation: 0.1 },
      ),
    ).toHaveLength(1);
  });

  it("treats an infinite divergence as trouble, and ignores NaN", () => {
    const of = (value: number) => {
      const metrics = (step: number): Record<string, number> => (step === 15 ? { "kl/behaviour": value } : {});
      return warningsOf(steps(30, metrics));
    };
    expect(of(Number.POSITIVE_INFINITY).map(({ check }) => check)).toEqual(["sampler-kl"]);
    expect(of(Number.NaN)).toEqual([]);
  });

  it("prefers the divergence before the first update of a batch, if it is known", () => {
    expect(warningsOf(steps(30, () => ({ "kl/sampler": 1e-6, "kl/behaviour": 0.3 })))).toEqual([]);
    expect(warningsOf(steps(30, () => ({ "kl/sampler": 0.3, "kl/behaviour": 0.001 })))).toHaveLength(1);
  });

  it("accepts short answers that become twice as long", () => {
    const few = (step: number) => ({ "length/completion-mean": step < 30 ? 3 : 9 });
    expect(warningsOf(steps(60, few))).toEqual([]);
  });

  it("accepts equal short answers, and demonstrations of any length", () => {
    expect(warningsOf(steps(30, () => ({ "groups/duplicates": 0.9, "length/completion-mean": 3 })))).toEqual([]);
    const { "tokens/sampled": _, ...shown } = healthy;
    const demonstrations = Array.from({ length: 60 }, (_, i) => ({
      ...stepEvent(i + 1),
      metrics: { ...shown, "length/completion-mean": 100 + 10 * i, "length/cut-off": 1 },
    }));
    expect(warningsOf(demonstrations)).toEqual([]);
  });
});

describe("reward hacking", () => {
  /** The training reward rises throughout. The held-out score rises too, and falls from step 100 on. */
  const hacked = (options: { readonly rises?: boolean; readonly falls?: boolean; readonly seed?: number }) => {
    const { rises = true, falls = true, seed = 5 } = options;
    const run = steps(300, (step) => ({ "reward/mean": rises ? 0.3 + 0.5 * between(step, 0, 300) : 0.5 }), {
      seed,
      share: 0.05,
    });
    const score = (step: number): number =>
      0.3 + 0.3 * between(step, 0, 100) - (falls ? 0.4 * between(step, 100, 300) : 0);
    return run.flatMap((step) => (step.step % 20 === 0 ? [step, evaluation(step.step, score(step.step))] : [step]));
  };
  const hacking = (events: Parameters<typeof warningsOf>[0], settings: Parameters<typeof warningsOf>[1] = {}) =>
    warningsOf(events, settings).filter(({ check }) => check === "reward-hacking");

  it("is reported once if the training reward rises while the held-out score falls, over 20 seeds", () => {
    for (let seed = 0; seed < 20; seed++) {
      const [warning, ...others] = hacking(hacked({ seed }));
      expect(others).toEqual([]);
      expect(warning?.message).toMatch(
        /^Likely reward hacking: since step 100 the training reward rose from 0\.4\d* to 0\.\d+ while evaluation\/reward\/mean of test fell from 0\.6 to 0\.\d+\./,
      );
      // Soon after the fall, and long before the end.
      expect(warning!.step).toBeGreaterThan(120);
      expect(warning!.step).toBeLessThanOrEqual(220);
    }
  });

  it("is not reported if only one of both happens, over 20 seeds", () => {
    for (let seed = 0; seed < 20; seed++) {
      expect(hacking(hacked({ rises: false, seed }))).toEqual([]);
      expect(hacking(hacked({ falls: false, seed }))).toEqual([]);
    }
  });

  it("is not reported for one bad evaluation, or for a fall within chance", () => {
    const rising = steps(200, (step) => ({ "reward/mean": 0.3 + 0.002 * step }));
    const evaluated = (scores: (step: number) => number) =>
      rising.flatMap((step) => (step.step % 20 === 0 ? [step, evaluation(step.step, scores(step.step))] : [step]));
    expect(hacking(evaluated((step) => (step === 120 ? 0.1 : 0.6)))).toEqual([]);
    expect(hacking(evaluated((step) => (step === 60 ? 0.64 : 0.58)))).toEqual([]);
    expect(hacking(evaluated((step) => (step < 120 ? 0.6 : 0.3)))).toHaveLength(1);
  });

  it("is found in a component that the user selects", () => {
    const run = steps(
      200,
      (step) => ({
        "reward/mean": 0.4 + 0.002 * step,
        "reward/component/correct": 0.5 - 0.1 * between(step, 50, 150),
      }),
      { seed: 4, share: 0.02 },
    );
    expect(hacking(run)).toEqual([]);
    const [warning] = hacking(run, { hidden: "reward/component/correct" });
    expect(warning?.message).toMatch(/while reward\/component\/correct fell from 0\.\d+ to 0\.\d+/);
  });

  it("is not reported if the reward rose only before the score was at its best", () => {
    const learnt = (step: number) => 0.3 + 0.3 * between(step, 10, 100);
    const run = steps(300, (step) => ({
      "reward/mean": learnt(step),
      "reward/component/correct": learnt(step) - 0.2 * between(step, 120, 300),
    }));
    expect(hacking(run, { hidden: "reward/component/correct" })).toEqual([]);
    const score = (step: number) => learnt(step) - 0.2 * between(step, 120, 300);
    const evaluated = run.flatMap((step) =>
      step.step % 20 === 0 ? [step, evaluation(step.step, score(step.step))] : [step],
    );
    expect(hacking(evaluated)).toEqual([]);
  });

  it("is detected from the first evaluation on, before any training", () => {
    const run = steps(100, (step) => ({ "reward/mean": 0.3 + 0.005 * step }));
    const events = [
      evaluation(0, 0.7),
      ...run.flatMap((s) => (s.step % 25 === 0 ? [s, evaluation(s.step, 0.4)] : [s])),
    ];
    expect(hacking(events)).toHaveLength(1);
  });
});

describe("a held-out score that stays flat", () => {
  /** The training reward rises to `to`. The held-out score rises from 0.3 to `score`. */
  const trained = (to: number, score: number, { from = 0.3, seed = 1 } = {}) => {
    const rising = (step: number, end: number, start: number): number => start + (end - start) * between(step, 0, 200);
    const run = steps(200, (step) => ({ "reward/mean": rising(step, to, from) }), { seed, share: 0.05 });
    const evaluated = run.flatMap((step) =>
      step.step % 20 === 0 ? [step, evaluation(step.step, rising(step.step, score, 0.3))] : [step],
    );
    return [evaluation(0, 0.3), ...evaluated];
  };
  const flat = (events: Parameters<typeof warningsOf>[0]) => warningsOf(events).map(({ check }) => check);

  it("is reported once while the training reward rises above it, over 20 seeds", () => {
    for (let seed = 0; seed < 20; seed++) {
      const [warning, ...others] = warningsOf(trained(0.9, 0.32, { seed }));
      expect(others).toEqual([]);
      expect(warning).toMatchObject({ check: "evaluation-flat", subject: "evaluation/reward/mean of test" });
      expect(warning!.message).toMatch(
        /^The training reward rose from 0\.3\d* to 0\.\d+, but .* went from 0\.3 to 0\.3\d* at best: /,
      );
      expect(warning!.message).toContain("Train on more tasks");
    }
  });

  it("is not reported if the score rises too, or if only samples come closer to greedy answers", () => {
    for (let seed = 0; seed < 20; seed++) {
      expect(flat(trained(0.9, 0.8, { seed }))).toEqual([]);
      expect(flat(trained(0.9, 0.65, { seed }))).toEqual([]);
      expect(flat(trained(0.3, 0.3, { from: 0.05, seed }))).toEqual([]);
      expect(flat(trained(0.32, 0.3, { seed }))).toEqual([]);
    }
  });

  it("is not reported if the reward rises after the last evaluation", () => {
    const run = steps(300, (step) => ({ "reward/mean": step < 210 ? 0.3 : 0.9 }), { seed: 1, share: 0.05 });
    const evaluated = run.flatMap((step) =>
      step.step % 100 === 0 && step.step < 300 ? [step, evaluation(step.step, 0.3)] : [step],
    );
    expect(flat([evaluation(0, 0.3), ...evaluated])).toEqual([]);
  });

  it("is not reported after two evaluations, which may be equal by chance", () => {
    const run = steps(60, (step) => ({ "reward/mean": 0.3 + 0.01 * step }));
    expect(flat([evaluation(0, 0.3), ...run, evaluation(60, 0.3)])).toEqual([]);
    expect(flat([evaluation(0, 0.3), ...run, evaluation(60, 0.3), evaluation(61, 0.3)])).toEqual(["evaluation-flat"]);
  });
});

it("a warning about growing answers says if the reward did not rise", () => {
  const grown = (reward: (step: number) => number) =>
    warningsOf(
      steps(60, (step) => ({ "length/completion-mean": 100 + 5 * step, "reward/mean": reward(step) }), {
        seed: 1,
        share: 0.01,
      }),
    ).map(({ message }) => message);
  expect(grown(() => 0.4)).toEqual([
    expect.stringMatching(/^Completions grew from .* tokens, and the reward did not rise: /),
  ]);
  expect(grown((step) => 0.2 + 0.01 * step)).toEqual([
    expect.stringMatching(/^Completions grew from \d+\S* to \S+ tokens: /),
  ]);
});

describe("warnings of one trouble", () => {
  it("come once while it lasts, and again after it was over", () => {
    const share = (step: number) => (step < 100 || step >= 200 ? 0.5 : 0);
    const warnings = warningsOf(steps(300, (step) => ({ "length/cut-off": share(step) })));
    expect(warnings.map(({ check, step }) => [check, step])).toEqual([
      ["truncation", 10],
      // Half of a window at 0.5 reaches the threshold.
      ["truncation", 204],
    ]);
  });

  it("end with an event, once each and after the beginning", () => {
    const run = steps(60, (step) => ({
      "length/cut-off": step <= 20 ? 0.5 : 0,
      "reward/component/format": step < 15 || step >= 40 ? 0.2 : 0.02,
      "reward/std": 0.01,
    }));
    const told = healthEvents(run).map(({ check, subject, step, over = false }) => ({ check, subject, step, over }));
    expect(told).toEqual([
      { check: "truncation", subject: undefined, step: 10, over: false },
      { check: "component-fall", subject: "reward/component/format", step: expect.any(Number), over: false },
      // Less than four tenths of a window at 0.5 is less than four fifths of the threshold.
      { check: "truncation", subject: undefined, step: 27, over: true },
      { check: "component-fall", subject: "reward/component/format", step: expect.any(Number), over: true },
    ]);
    const ends = healthEvents(run).filter(({ over }) => over === true);
    expect(ends[0]!.message).toBe("truncation is over: its metric is clear of the threshold again.");
    expect(ends[1]!.message).toContain("component-fall reward/component/format is over");
    expect(ends[1]!.step).toBeGreaterThan(40);
  });

  it("begin and end alternately, for any history", () => {
    const shares = fc.array(fc.double({ min: 0, max: 0.6, noNaN: true }), { minLength: 20, maxLength: 100 });
    fc.assert(
      fc.property(shares, (list) => {
        const told = healthEvents(list.map((share, i) => stepEvent(i + 1, { "length/cut-off": share })));
        expect(told.map(({ over = false }) => over)).toEqual(told.map((_, i) => i % 2 === 1));
      }),
    );
  });

  it("do not flap: between two warnings the value was clearly below the threshold", () => {
    const shares = fc.array(fc.double({ min: 0, max: 0.6, noNaN: true }), { minLength: 20, maxLength: 100 });
    fc.assert(
      fc.property(shares, (list) => {
        const run = list.map((share, i) => stepEvent(i + 1, { "length/cut-off": share }));
        const warned = warningsOf(run).map(({ step }) => step);
        const mean = (step: number): number => list.slice(step - 10, step).reduce((sum, share) => sum + share / 10, 0);
        for (const [i, step] of warned.entries()) {
          expect(mean(step)).toBeGreaterThanOrEqual(0.25 - 1e-12);
          const since = warned[i - 1];
          if (since === undefined) continue;
          const lowest = Math.min(...list.slice(since, step).map((_, k) => mean(since + 1 + k)));
          expect(lowest).toBeLessThan(0.8 * 0.25 + 1e-12);
        }
      }),
    );
  });

  it("come once for values that vary around the threshold", () => {
    for (let seed = 0; seed < 10; seed++) {
      const run = steps(200, () => ({ "length/cut-off": 0.25 }), { seed, share: 0.1 });
      expect(warningsOf(run)).toHaveLength(1);
    }
  });
});

it("is a pure function: the same history gives the same warnings, and no event is changed", () => {
  const run = steps(100, (step) => ({ "length/cut-off": step / 100 }), { seed: 9, share: 0.1 });
  const before = structuredClone(run);
  expect(warningsOf(run)).toEqual(warningsOf(run));
  expect(run).toEqual(before);
});

describe("the loss on demonstrations", () => {
  const { "tokens/sampled": _, ...shown } = healthy;
  /** An SFT run with the given loss at each step, which varies by a relative amount. */
  const demonstrated = (loss: (step: number) => number, { seed = 1, share = 0.1, count = 200 } = {}) => {
    const random = createRandom(seed);
    return Array.from({ length: count }, (_unused, i) => ({
      ...stepEvent(i + 1),
      metrics: { ...shown, "loss/total": loss(i + 1) * (1 + share * random.normal()) },
    }));
  };
  const learned = (step: number) => 0.05 + 5.5 * Math.exp(-step / 15);

  it("has a warning soon after it rises, and none if it falls, is constant, or varies near 0, over 20 seeds", () => {
    for (let seed = 0; seed < 20; seed++) {
      const [warning, ...others] = warningsOf(
        demonstrated((step) => (step < 100 ? 2 : 2 + 0.05 * (step - 100)), { seed }),
      );
      expect(others).toEqual([]);
      expect(warning).toMatchObject({ check: "loss-rise" });
      expect(warning!.message).toMatch(
        /^The loss rose from [12]\.\d+ \(its lowest, at step \d+\) to [23]\.\d+: the learning rate/,
      );
      expect(warning!.step).toBeGreaterThan(100);
      expect(warning!.step).toBeLessThan(130);
      for (const loss of [learned, () => 2, (step: number) => 0.002 + 0.001 * (step % 7)]) {
        expect(warningsOf(demonstrated(loss, { seed }))).toEqual([]);
      }
    }
  });

  it("may rise a little after it was learned, and stay there", () => {
    expect(warningsOf(demonstrated((step) => learned(step) + (step > 150 ? 0.02 : 0)))).toEqual([]);
    expect(warningsOf(demonstrated((step) => learned(step) + (step > 150 ? 1 : 0)))).toHaveLength(1);
  });

  it("is checked only for demonstrations: the loss of RL may rise", () => {
    expect(warningsOf(steps(200, (step) => ({ "loss/total": 0.1 + step / 100 })))).toEqual([]);
  });
});

describe("an evaluation that falls", () => {
  const evaluated = (scores: readonly number[], run = steps(200)) =>
    run.flatMap((step) => (step.step % 20 === 0 ? [step, evaluation(step.step, scores[step.step / 20 - 1]!)] : [step]));
  const falls = (events: Parameters<typeof warningsOf>[0]) =>
    warningsOf(events).map(({ check, subject, step }) => [check, subject, step]);

  it("has a warning after two in a row are significantly below the best", () => {
    const scores = [0.5, 0.7, 0.9, 0.6, 0.55, 0.5, 0.5, 0.5, 0.5, 0.5];
    expect(falls(evaluated(scores))).toEqual([["evaluation-fall", "evaluation/reward/mean of test", 100]]);
  });

  it.each([
    ["one alone is low", [0.5, 0.7, 0.9, 0.4, 0.9, 0.9, 0.4, 0.9, 0.9, 0.9]],
    ["it is within chance", [0.5, 0.55, 0.5, 0.48, 0.52, 0.5, 0.47, 0.5, 0.51, 0.5]],
    ["it rises", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]],
  ])("is not warned of if %s", (_, scores) => {
    expect(falls(evaluated(scores))).toEqual([]);
  });

  it("is reported once as reward hacking if the training reward rises meanwhile", () => {
    const rising = steps(200, (step) => ({ "reward/mean": 0.3 + 0.003 * step }));
    const scores = [0.5, 0.7, 0.9, 0.6, 0.5, 0.4, 0.4, 0.4, 0.4, 0.4];
    expect(falls(evaluated(scores, rising)).map(([check]) => check)).toEqual(["reward-hacking"]);
  });

  it("is over after the score has recovered", () => {
    const scores = [0.5, 0.7, 0.9, 0.6, 0.55, 0.5, 0.9, 0.9, 0.9, 0.9];
    const told = healthEvents(evaluated(scores)).map(({ check, step, over = false }) => [check, step, over]);
    expect(told).toEqual([
      ["evaluation-fall", 100, false],
      ["evaluation-fall", 140, true],
    ]);
  });
});
