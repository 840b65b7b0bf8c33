import { describe, expect, it } from "vitest";
import { watchHealth } from "../../../reports/health/index.ts";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import type { TrainingEvent, TrainingWarningEvent } from "../../../src/contract/training-event.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import type { TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import type { TrainingConfigInput } from "../../../trainers/config/training-config.ts";
import { train } from "../../../trainers/training/train.ts";
import { sharedEngine } from "../../backends/onnx/shared-engine.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { sampleOf } from "../../tier.ts";
import { createBigramBackend } from "../../trainers/bigram-backend.ts";
import { letterEnvironment } from "../../trainers/letter-environment.ts";
import { letterConfig } from "../../trainers/run-training.ts";

/** Returns the warnings of a run on letters. Its completions are one token long, so each is cut off. */
async function warnings(options: {
  readonly environment: EnvironmentDefinition;
  readonly backend: TrainingBackend;
  readonly config: TrainingConfigInput;
}): Promise<TrainingWarningEvent[]> {
  const found: TrainingWarningEvent[] = [];
  const run: AsyncIterable<TrainingEvent> = train({ ...options, output: temporaryFolder() });
  for await (const event of watchHealth(run, { settings: { ignore: ["truncation"] } })) {
    if (event.type === "warning") found.push(event);
  }
  return found;
}

const checksOf = (found: readonly TrainingWarningEvent[]): Set<string | undefined> =>
  new Set(found.map(({ check }) => check));
const letters = (judge: (right: boolean) => number = Number): EnvironmentDefinition =>
  letterEnvironment({ judge }) as EnvironmentDefinition;

describe("a small model on the engine", () => {
  const run = async (algorithm: string, learningRate: number): Promise<TrainingWarningEvent[]> => {
    await using backend = await sharedEngine();
    return await warnings({
      environment: letters(),
      backend,
      config: {
        seed: 1,
        algorithm: { id: algorithm, groupSize: 8 },
        model: { scratch: { hiddenSize: 64, layers: 1, heads: 4, maxLength: 128 } },
        sampling: { maxTokens: 1 },
        training: { steps: 60, batchSize: 8, learningRate, sampleEvery: 0 },
        evaluation: { split: "test", temperature: 1, limit: 64, every: 15 },
        checkpoint: { every: 0 },
        export: { format: "none" },
      },
    });
  };

  it.each(sampleOf(["grpo", "ppo", "reinforce"], 3))("that learns with %s has no warnings", async (algorithm) => {
    expect(await run(algorithm, 3e-3)).toEqual([]);
  });

  it.each(
    sampleOf(["reinforce", "grpo"], 2),
  )("that collapses under a learning rate 100 times too high is (%s)", async (algorithm) => {
    const found = await run(algorithm, 0.3);
    expect(checksOf(found.filter(({ check }) => check !== undefined))).toEqual(
      new Set(["without-signal", "entropy-low"]),
    );
    expect(found.find(({ check }) => check === "without-signal")!.message).toContain("collapsed");
    expect(Math.min(...found.map(({ step }) => step))).toBeLessThan(20);
  });
});

describe("a broken reward", () => {
  const config = letterConfig({
    training: { steps: 60, batchSize: 8, sampleEvery: 0 },
    evaluation: { split: "test", temperature: 1, limit: 64, every: 10 },
  });

  it("that works has no warnings, even after everything is solved", async () => {
    const backend = createBigramBackend();
    expect(await warnings({ environment: letters(), backend, config })).toEqual([]);
  });

  it("that is constant has no signal", async () => {
    const found = await warnings({ environment: letters(() => 0), backend: createBigramBackend(), config });
    expect(checksOf(found)).toEqual(new Set([undefined, "without-signal"]));
    expect(found.filter(({ check }) => check !== undefined)).toMatchObject([{ step: 10 }]);
  });

  it("whose judge fails sometimes leaves episodes unscored, without other warnings", async () => {
    let asked = 0;
    const judge = (right: boolean): number => {
      if (asked++ % 3 === 0) throw Object.assign(new Error("The judge is silent."), { code: "ECONNRESET" });
      return Number(right);
    };
    const found = await warnings({ environment: letters(judge), backend: createBigramBackend(), config });
    expect(checksOf(found)).toEqual(new Set([undefined, "unscored"]));
    for (const { check, message } of found) if (check === undefined) expect(message).toContain("unscored");
  });

  it("that changes during training is reported as likely reward hacking", async () => {
    let trained = 0;
    const names = "abcd";
    const environment = defineEnvironment<{ readonly prompt: string; readonly held: boolean }>({
      id: "letters",
      rewardRange: [0, 2],
      tasks: (split) =>
        [...(split === "train" ? "ABCDEFGH" : "STUVWXYZ")].flatMap((one) =>
          [...names].map((other) => ({ prompt: one + other, held: split !== "train" })),
        ),
      reset: ({ task }) => task.prompt,
      step: ({ task, text }) => {
        const offset = (text.charCodeAt(0) - names.indexOf(task.prompt.at(-1)!)) & 3;
        // Correct for twelve steps of 64 episodes. Then a wrong answer gets twice the reward.
        const isPaid = !task.held && trained++ > 12 * 64;
        return { reward: offset === 0 ? 1 : isPaid ? 2 : 0 };
      },
    }) as EnvironmentDefinition;
    const longer = {
      ...config,
      training: { ...config.training, steps: 120 },
      algorithm: { id: "grpo", groupSize: 8, entropyWeight: 0.05 },
    };
    const found = await warnings({ environment, backend: createBigramBackend(), config: longer });
    const [hacking, ...others] = found.filter(({ check }) => check === "reward-hacking");
    expect(others).toEqual([]);
    expect(hacking!.step).toBeGreaterThan(20);
    expect(hacking!.message).toMatch(/^Likely reward hacking: .*evaluation\/reward\/mean of test fell/);
  });
});
