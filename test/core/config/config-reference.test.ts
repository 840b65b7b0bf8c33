import { expect, it } from "vitest";
import { z } from "zod";
import { configReference } from "../../../src/core/config/index.ts";

const schema = z.strictObject({
  seed: z.int().min(0).default(3).describe("The seed of all random choices."),
  note: z.string().optional(),
  environment: z
    .discriminatedUnion("id", [
      z.strictObject({ id: z.literal("math"), terms: z.int().positive().describe("Numbers in a sum.") }),
      z.strictObject({ id: z.literal("code"), language: z.enum(["python", "javascript"]) }),
    ])
    .describe("The environment."),
  sampling: z.strictObject({ temperature: z.number().gt(0).max(2).default(1) }).prefault({}),
  training: z
    .strictObject({ steps: z.int(), stages: z.array(z.strictObject({ name: z.string() })).optional() })
    .default({ steps: 10 }),
  limits: z.record(z.string(), z.strictObject({ tokens: z.int().nullable() })).optional(),
  shape: z.union([z.literal("auto"), z.array(z.int())]).default("auto"),
});

it("lists every key once, with type, default, description and its case", () => {
  expect(configReference(schema)).toEqual([
    {
      key: "seed",
      type: "whole number >= 0",
      required: false,
      default: 3,
      description: "The seed of all random choices.",
    },
    { key: "note", type: "text", required: false },
    { key: "environment.id", type: "math | code", required: true, description: "The environment." },
    {
      key: "environment.terms",
      type: "whole number > 0",
      required: true,
      description: "Numbers in a sum.",
      when: { key: "environment.id", value: "math" },
    },
    {
      key: "environment.language",
      type: "python | javascript",
      required: true,
      when: { key: "environment.id", value: "code" },
    },
    { key: "sampling.temperature", type: "number > 0, <= 2", required: false, default: 1 },
    { key: "training.steps", type: "whole number", required: false, default: 10 },
    { key: "training.stages[].name", type: "text", required: true },
    { key: "limits.*.tokens", type: "whole number | null", required: true },
    { key: "shape", type: "auto | list of whole number", required: false, default: "auto" },
  ]);
});

it("refuses a schema that is not strict, because its keys could be incomplete", () => {
  expect(() => configReference(z.strictObject({ a: z.object({}) }))).toThrow(/ignores unknown keys/);
});
