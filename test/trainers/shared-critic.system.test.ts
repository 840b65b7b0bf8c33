import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Datum } from "../../trainers/backend/datum.ts";
import type { LossTerm } from "../../trainers/backend/loss-term.ts";
import type { Model, ModelSpec, TrainingBackend } from "../../trainers/backend/training-backend.ts";
import type { TrainingSample } from "../../trainers/data/training-sample.ts";
import { valueDatum } from "../../trainers/data/value-datum.ts";
import { updatePolicy } from "../../trainers/update/update-policy.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { createBigramBackend, savedRow } from "./bigram-backend.ts";
import { eventsOf, letterConfig, runTraining } from "./run-training.ts";
import { teamEnvironment } from "./team-environment.ts";

/** A call of `forwardBackward`. */
interface Call {
  readonly data: readonly Datum[];
  readonly terms: readonly LossTerm[];
}

/** The backend, with records of the models it opened and the updates it computed. */
function watched(): { backend: TrainingBackend; specs: ModelSpec[]; calls: Call[] } {
  const backend = createBigramBackend();
  const specs: ModelSpec[] = [];
  const calls: Call[] = [];
  const openModel = async (spec: ModelSpec): Promise<Model> => {
    specs.push(spec);
    const model = await backend.openModel(spec);
    const forwardBackward = model.forwardBackward.bind(model);
    model.forwardBackward = (data, terms, options) => {
      calls.push({ data, terms });
      return forwardBackward(data, terms, options);
    };
    return model;
  };
  return { backend: { ...backend, openModel }, specs, calls };
}

/** All numbers of the trained tables, by index. */
async function weights(output: string, learner = ""): Promise<Map<string, number>> {
  const path = join(output, "checkpoints", "step-000004", "model", learner, "bigram.json");
  const { rows } = JSON.parse(await readFile(path, "utf8"));
  return new Map(
    rows.flatMap(([context, row]: [number, string]) =>
      [...savedRow(row)].flatMap((value, entry) => (value === 0 ? [] : [[`${context} ${entry}`, value] as const])),
    ),
  );
}

const short = { steps: 4, batchSize: 8 };

describe("a value head on the policy of turn-level actor-critics", () => {
  it("equals PPO's if an episode is one turn of one token", async () => {
    const shared = { groupSize: 4, critic: "shared", valueWeight: 0.3, valueClip: 0.2 };
    const run = async (algorithm: { readonly id: string }): Promise<Map<string, number>> => {
      const output = temporaryFolder();
      const { error } = await runTraining({ output, config: letterConfig({ algorithm, training: short }) });
      expect(error).toBeUndefined();
      return weights(output);
    };
    const expected = await run({ id: "ippo", ...shared, epochs: 1, minibatches: 1 } as { id: string });
    const found = await run({ id: "iac", ...shared } as { id: string });
    expect(new Set(found.keys())).toEqual(new Set(expected.keys()));
    for (const [place, value] of expected) expect(found.get(place)).toBeCloseTo(value, 5);
    // Some are values, and another weight of the value loss gives other values.
    const other = await run({ id: "iac", ...shared, valueWeight: 0.6 } as { id: string });
    expect([...expected].some(([place, value]) => Math.abs(other.get(place)! - value) > 1e-3)).toBe(true);
  });

  it.each(["iac", "maac"])("opens no other models than the agents' for %s", async (id) => {
    for (const [critic, models] of [
      ["shared", 2],
      ["separate", id === "iac" ? 4 : 3],
    ] as const) {
      const { backend, specs } = watched();
      const { error } = await runTraining({
        output: temporaryFolder(),
        backend,
        environment: teamEnvironment(),
        config: letterConfig({ algorithm: { id, critic, groupSize: 2 }, training: { ...short, steps: 1 } }),
      });
      expect(error).toBeUndefined();
      expect(specs).toHaveLength(models);
      expect(specs.filter(({ valueHead }) => valueHead)).toHaveLength(critic === "shared" ? 2 : models - 2);
    }
  });

  it.each([
    ["iac", "v", /^[<>][A-H][a-d]<\|assistant\|>$/],
    ["maac", "v", /\[left\].*<[A-H][a-d].*\[right\].*>[A-H][a-d]/s],
    ["maac", "q", /\[left\].*\[right\].*\[left answers\].*\[right answers\]/s],
  ] as const)("of %s reads, with %s, the states that it values", async (id, criticInput, read) => {
    const { backend, calls } = watched();
    const record = await runTraining({
      output: temporaryFolder(),
      backend,
      environment: teamEnvironment({ partial: 0.5 }),
      config: letterConfig({
        algorithm: { id, critic: "shared", groupSize: 2, criticInput, discount: 0 },
        training: { ...short, steps: 1, batchSize: 2 },
      }),
    });
    expect(record.error).toBeUndefined();
    const states = calls.filter(({ terms }) => terms[0]!.type === "value").flatMap(({ data }) => data);
    // Two agents, two tasks, two episodes, two turns.
    expect(states).toHaveLength(16);
    const model = await backend.openModel({
      source: { type: "scratch", config: {}, seed: 0 },
      trainable: { type: "full" },
    });
    for (const { tokens, lossMask, returns } of states) {
      expect(model.tokenizer.decode([...tokens])).toMatch(read);
      const asked = [...lossMask.keys()].filter((t) => lossMask[t] !== 0);
      expect(asked).toEqual([tokens.length - 1]);
      // A mean over the eight states of one learner.
      expect(lossMask.at(-1)).toBeCloseTo(1 / 8);
      expect([0, 0.5, 1]).toContain(returns!.at(-1));
    }
    // The policy's terms are not computed if only a value is needed.
    for (const { data, terms } of calls) {
      if (terms[0]!.type !== "value") expect(data.every(({ returns }) => returns === undefined)).toBe(true);
    }
    const metrics = eventsOf(record, "step")[0]!.metrics;
    expect(metrics["loss/value"]).toBeGreaterThan(0);
    expect(metrics["loss/total"]).toBeCloseTo(metrics["loss/policyGradient"]! + metrics["loss/value"]!, 6);
    expect(metrics["critic/loss"]).toBeUndefined();
  });

  it("takes one step on the policy loss plus weight x the mean value loss", async () => {
    const open = (): Promise<Model> =>
      createBigramBackend().openModel({
        source: { type: "scratch", config: {}, seed: 0 },
        trainable: { type: "full" },
        valueHead: true,
      });
    // With such a large epsilon, a step is the gradient itself.
    const optimizer = { learningRate: 1e6, beta1: 0, beta2: 0, epsilon: 1e6, weightDecay: 0 };
    const states = [
      { ids: [40, 41], targets: [{ after: 1, value: 3, old: 0 }] },
      {
        ids: [42, 43, 44],
        targets: [
          { after: 1, value: -1, old: 0 },
          { after: 2, value: 0.5, old: 0 },
        ],
      },
    ];
    const model = await open();
    const sample = (advantage: number, own: TrainingSample["states"]): TrainingSample => ({
      agent: "agent",
      advantage,
      sequences: [
        {
          agent: "agent",
          ids: [40, 41, 50],
          mask: [0, 0, 1],
          logprobs: [0, 0, -5],
          turns: [0, 0, 0],
          temperature: 1,
          weightsVersion: 0,
        },
      ],
      ...(own === undefined ? {} : { states: own }),
    });
    const metrics = await updatePolicy({
      model,
      samples: [sample(2, [states[0]!]), sample(0, [states[1]!])],
      loss: {
        terms: [{ type: "policyGradient" }],
        aggregation: "token-mean",
        stateValues: { type: "value", weight: 0.5 },
      },
      optimizer,
    });
    // 0.5 x (9 + 1 + 0.25) / 3, and the negative gradient 0.5 x 2 x (0 - target) / 3.
    expect(metrics["loss/value"]).toBeCloseTo(10.25 / 6, 5);
    expect(metrics["tokens/trained"]).toBe(2);
    expect(metrics["value/explained-variance"]).toBeCloseTo(0, 6);
    const values = await model.forward(states.map(valueDatum), { outputs: ["values"] });
    expect(values[0]!.values![1]).toBeCloseTo(1, 4);
    expect(values[1]!.values![1]).toBeCloseTo(-1 / 3, 4);
    expect(values[1]!.values![2]).toBeCloseTo(0.5 / 3, 4);
    // The policy's part is the same as without a critic.
    const alone = await open();
    await updatePolicy({
      model: alone,
      samples: [sample(2, undefined), sample(0, undefined)],
      loss: { terms: [{ type: "policyGradient" }], aggregation: "token-mean" },
      optimizer,
    });
    const datum = { ...valueDatum(states[0]!), lossMask: Float32Array.of(1, 1) };
    const [both, policy] = await Promise.all(
      [model, alone].map((one) => one.forward([datum], { outputs: ["logprobs"] })),
    );
    expect(both![0]!.logprobs).toEqual(policy![0]!.logprobs);
  });
});
