import { describe, expect, it } from "vitest";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { Sample, Sampler } from "../../src/contract/sampler.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { changedBackend } from "./changed-backend.ts";
import { checkpointState, letterConfig, runTraining } from "./run-training.ts";

/** Changes a sample of the weights with a version. */
type Change = (sample: Sample, version: number) => Sample;

const withoutValues: Change = ({ values: _, ...sample }) => sample;
/** Not the same for all, because whitening would remove it. */
const withWrongValues: Change = (sample) => ({
  ...sample,
  values: sample.values!.map((value) => value + sample.ids[0]! / 100),
});

/** All algorithms with a value head on the policy that reads the agent's own conversation. */
const algorithms = [{ id: "ppo" }, { id: "iac", critic: "shared" }, { id: "iac", critic: "shared", criticInput: "q" }];

/** Runs an algorithm, PPO by default. Returns its weights and the number of passes for values. */
async function trained(options: {
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly rollout?: Readonly<Record<string, unknown>>;
  readonly environment?: EnvironmentDefinition;
  readonly change?: Change;
}): Promise<{ readonly state: string; readonly passes: number }> {
  const { settings, rollout, environment, change = (sample) => sample } = options;
  let passes = 0;
  const backend = changedBackend((model) => ({
    forward: (data, wanted) => {
      if (wanted.outputs.includes("values") && data.length > 0) passes++;
      return model.forward(data, wanted);
    },
    snapshot: async () => changedSampler(await model.snapshot(), change),
  }));
  const output = temporaryFolder();
  const { error } = await runTraining({
    output,
    backend,
    ...(environment === undefined ? {} : { environment }),
    config: letterConfig({
      algorithm: { id: "ppo", groupSize: 4, ...settings },
      training: { steps: 4, batchSize: 8 },
      sampling: { maxTokens: 2 },
      ...(rollout === undefined ? {} : { rollout }),
    }),
  });
  if (error !== undefined) throw error;
  return { state: await checkpointState(output, 4), passes };
}

function changedSampler(sampler: Sampler, change: Change): Sampler {
  return {
    specificationVersion: "v1",
    version: sampler.version,
    async *sample(requests, options) {
      for await (const sample of sampler.sample(requests, options)) yield change(sample, sampler.version);
    },
    close: () => sampler.close(),
  };
}

/** Asks for letters until a limit is reached. Every second conversation restarts each turn. */
function endless(): EnvironmentDefinition {
  return defineEnvironment<string>({
    id: "endless",
    maxTurns: 100,
    tasks: ["a", "b", "c", "d"],
    reset: ({ task }) => task,
    step: ({ task, text }) => ({
      reward: text.charCodeAt(0) % 2,
      reply: task,
      context: task < "c" ? "append" : "replace",
    }),
  }) as EnvironmentDefinition;
}

describe("the values that a sampler records", () => {
  it.each(algorithms)("replace a pass of the value head and give the same weights, with %o", async (settings) => {
    const told = await trained({ settings });
    const asked = await trained({ settings, change: withoutValues });
    expect(told.passes).toBe(0);
    expect(asked.passes).toBeGreaterThan(0);
    expect(told.state).toBe(asked.state);
    expect((await trained({ settings, change: withWrongValues })).state).not.toBe(asked.state);
  });

  it.each(algorithms)("replace it if a limit truncates episodes of several turns, with %o", async (settings) => {
    const cut = { settings, environment: endless(), rollout: { limits: { turns: 3 } } };
    const told = await trained(cut);
    const asked = await trained({ ...cut, change: withoutValues });
    expect(told.passes).toBe(0);
    expect(asked.passes).toBeGreaterThan(0);
    expect(told.state).toBe(asked.state);
  });

  it.each(algorithms)("are not reused after the weights changed, with %o", async (settings) => {
    const stale = { settings, rollout: { maxStaleness: 1 } };
    const told = await trained(stale);
    // All batches except the first two, of version 0, get wrong values, which nothing reads.
    const wrong = await trained({
      ...stale,
      change: (sample, version) => (version > 0 ? withWrongValues(sample, version) : sample),
    });
    expect(told.passes).toBe(3);
    expect(wrong).toEqual(told);
  });

  it.each(["v", "q"])("are not used for the input of a team's critic, with %s", async (criticInput) => {
    const settings = { id: "maac", critic: "shared", criticInput };
    const told = await trained({ settings });
    expect(told.passes).toBe(4);
    expect(await trained({ settings, change: withWrongValues })).toEqual(told);
  });

  it.each(["ppo", "iac"])("are not used for a separate critic of %s", async (id) => {
    const { passes } = await trained({ settings: { id, critic: "separate" } });
    expect(passes).toBe(4);
  });
});
