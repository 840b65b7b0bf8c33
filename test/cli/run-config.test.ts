import { describe, expect, it } from "vitest";
import { z } from "zod";
import { runConfigSchema } from "../../cli/run-config.ts";
import { configReference, loadConfig } from "../../src/core/config/index.ts";
import { defineEnvironmentEntry } from "../../src/core/environment/registry.ts";
import { algorithms } from "../../trainers/algorithms/index.ts";

const neverCreated = (): never => {
  throw new Error("not created here");
};
const environments = [
  defineEnvironmentEntry({
    id: "sums",
    description: "Sums.",
    options: z
      .object({ digits: z.int().positive().default(2).describe("Digits."), terms: z.int().default(2) })
      .check((context) => {
        const { digits, terms } = context.value;
        if (digits * terms > 10) {
          context.issues.push({ code: "custom", message: "too long", input: digits, path: ["digits"] });
        }
      }),
    create: neverCreated,
  }),
  defineEnvironmentEntry({ id: "riddles", description: "Riddles.", options: z.strictObject({}), create: neverCreated }),
];
const schema = runConfigSchema({ environments, algorithms: algorithms.list() });
const load = (text: string) => loadConfig({ text, name: "run.yaml", schema });
const model = "model: { scratch: {} }";

describe("runConfigSchema", () => {
  it("takes each environment with its own options, and fills in defaults", async () => {
    const config = await load(`environment: { id: sums, digits: 3 }\nalgorithm: { id: grpo }\n${model}\n`);
    expect(config.environment).toEqual({ id: "sums", digits: 3, terms: 2 });
    expect(config.algorithm.id).toBe("grpo");
    expect(config.training.batchSize).toBeGreaterThan(0);
  });

  it("refuses options of another environment, unknown ids and unknown keys, each with its line and a suggestion", async () => {
    await expect(
      load(`environment:\n  id: riddles\n  digits: 3\nalgorithm: { id: grpo }\n${model}`),
    ).rejects.toMatchObject({
      message: 'run.yaml:3:3: unknown key "digits" in environment',
    });
    await expect(load(`environment:\n  id: sum\nalgorithm: { id: grpo }\n${model}`)).rejects.toMatchObject({
      message: expect.stringContaining("run.yaml:2:3"),
      hint: expect.stringContaining('Did you mean "sums"?'),
    });
    await expect(load(`environment: { id: sums }\nalgorithm:\n  id: grp\n${model}`)).rejects.toMatchObject({
      message: expect.stringContaining("run.yaml:3:3"),
      hint: expect.stringContaining('Did you mean "grpo"?'),
    });
    await expect(
      load(`environment: { id: sums }\nalgorithm: { id: grpo }\n${model}\ntrainig: {}`),
    ).rejects.toMatchObject({
      message: 'run.yaml:4:1: unknown key "trainig"',
      hint: expect.stringContaining('Did you mean "training"?'),
    });
  });

  it("keeps the checks across an environment's options", async () => {
    await expect(
      load(`environment:\n  id: sums\n  terms: 4\n  digits: 3\nalgorithm: { id: grpo }\n${model}`),
    ).rejects.toMatchObject({ message: "run.yaml:4:3: environment.digits: too long" });
  });

  it.each([
    ["a model from scratch", "{ scratch: {} }", true],
    ["an adapter on a model from scratch", "{ scratch: {}, adapter: { type: lora } }", true],
    ["all weights of a model", "{ path: folder }", true],
    ["an adapter", "{ path: folder, adapter: { type: lora } }", false],
  ])("quantizes only weights of files that are frozen: %s", async (_, model, isRefused) => {
    for (const type of ["onnx", "torch"]) {
      const text = `environment: { id: sums }\nalgorithm: { id: grpo }\nmodel: ${model}\nbackend: { type: ${type}, quantize: 8 }`;
      const loaded = load(text).then(
        () => "taken",
        (error: Error) => error.message,
      );
      const place = `run.yaml:4:${type === "onnx" ? 24 : 25}: backend.quantize: is for weights from files`;
      expect(await loaded).toEqual(isRefused ? expect.stringContaining(place) : "taken");
    }
  });

  it("describes every key", () => {
    const keys = configReference(schema);
    expect(keys.find(({ key }) => key === "environment.digits")).toMatchObject({
      type: "whole number > 0",
      default: 2,
      when: { key: "environment.id", value: "sums" },
    });
    const undescribed = keys.filter(({ description, when }) => description === undefined && when?.value !== "sums");
    expect(undescribed.map(({ key }) => key)).toEqual([]);
  });
});
