import { describe, expect, it } from "vitest";
import { exactly, interval } from "../../../trainers/plan/interval.ts";
import { completionUpTo } from "../../../trainers/plan/workload.ts";
import { evaluationCount } from "../../../trainers/training/step-count.ts";
import { exactWorkload } from "./workloads.ts";

describe("planWorkload", () => {
  it("counts the tokens of groups", () => {
    const work = exactWorkload({ batchSize: 2, algorithm: { id: "grpo", groupSize: 4 } });
    expect(work).toMatchObject({ samples: true, sequences: 8, groupSize: 4, learners: 1, optimizerSteps: 1 });
    expect(work).toMatchObject({ sampled: exactly(240), trained: exactly(240), passed: exactly(320) });
    expect(work).toMatchObject({ forwarded: exactly(0), reference: false, critics: 0 });
  });

  it("counts turns, agents and epochs", () => {
    const work = exactWorkload({
      agents: 2,
      turns: 3,
      algorithm: { id: "grpo", groupSize: 4, epochs: 2, minibatches: 3 },
    });
    expect(work).toMatchObject({ sequences: 16, learners: 2, optimizerSteps: 6 });
    expect(work.sequenceLength).toEqual(exactly(120));
    expect(work.sampled).toEqual(exactly(16 * 90));
    expect(work.passed).toEqual(exactly(2 * 16 * 120));
    expect(exactWorkload({ agents: 2, weights: "shared" }).learners).toBe(1);
  });

  it("does not sample demonstrations", () => {
    const work = exactWorkload({ algorithm: { id: "sft" }, batchSize: 5 });
    expect(work).toMatchObject({ samples: false, sequences: 5, sampled: exactly(0), trained: exactly(150) });
  });

  it("adds passes of a reference, of stale samples, of sequence losses and of separate critics", () => {
    const forwarded = (algorithm: Record<string, unknown>, maxStaleness = 0) =>
      exactWorkload({ algorithm: { groupSize: 4, ...algorithm } as never, maxStaleness }).forwarded.middle / 320;
    expect(forwarded({ id: "grpo", klWeight: 0.1 })).toBe(1);
    expect(forwarded({ id: "grpo" }, 1)).toBe(1);
    expect(forwarded({ id: "gspo" })).toBe(1);
    const ppo = exactWorkload({ algorithm: { id: "ppo", critic: "separate", groupSize: 4, epochs: 1 } as never });
    expect(ppo).toMatchObject({ critics: 1, passed: exactly(640), forwarded: exactly(320) });
  });

  it("samples each task of an evaluation, also in a run that learns from demonstrations", () => {
    const work = exactWorkload({ algorithm: { id: "sft" }, agents: 2, evaluatedTasks: 50 });
    expect(work.evaluation).toMatchObject({ samples: true, sequences: 100, groupSize: 1, prompt: work.prompt });
    expect(work.evaluation!.completion).toEqual(exactly(30));
    expect(exactWorkload().evaluation).toBeUndefined();
  });

  it("samples a greedy episode for each task if it is the baseline", () => {
    const { sampled, sequences } = exactWorkload({ algorithm: { id: "remax" } });
    expect(sampled.middle / (sequences * 30)).toBe(2);
  });
});

describe("evaluationCount", () => {
  it("counts the steps at which a run evaluates", () => {
    for (let steps = 1; steps < 20; steps++) {
      for (let every = 0; every < 22; every++) {
        const at = Array.from({ length: steps }, (_, i) => i + 1).filter((step) => every > 0 && step % every === 0);
        expect([steps, every, evaluationCount(steps, every)]).toEqual([steps, every, new Set([0, ...at, steps]).size]);
      }
    }
  });
});

describe("completionUpTo", () => {
  it("is an eighth of the limit to all of it", () => {
    expect(completionUpTo(256)).toEqual(interval(32, 128, 256));
    expect(completionUpTo(1)).toEqual(exactly(1));
  });
});
