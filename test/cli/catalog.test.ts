import { describe, expect, it } from "vitest";
import { engineOptions, openCatalog } from "../../cli/catalog.ts";
import { checkConfig, type TrainingConfigInput } from "../../trainers/config/training-config.ts";

const parse = (model: Partial<TrainingConfigInput["model"]>) =>
  checkConfig({ algorithm: { id: "sft" }, model: { scratch: {}, ...model } });

describe("the backend of a config", () => {
  it("is created with every key that selects what runs the model", () => {
    const { model, training } = parse({ device: "cuda", precision: "float16", deviceIndex: 3, threads: 2 });
    expect(engineOptions({ model, training })).toEqual({
      device: "cuda",
      precision: "float16",
      deviceIndex: 3,
      threads: 2,
      maxTokensPerMicroBatch: training.maxTokensPerMicroBatch,
    });
    const plain = parse({});
    const given = Object.entries(engineOptions(plain)).filter(([, value]) => value !== undefined);
    expect(given.map(([key]) => key)).toEqual(["device", "maxTokensPerMicroBatch", "precision"]);
  });

  it.each<[string, Parameters<typeof parse>[0], RegExp, RegExp]>([
    ["float16 on the cpu", { device: "cpu", precision: "float16" }, /"cpu" cannot train in float16/, /float32/],
    [
      "an index on the cpu",
      { device: "cpu", deviceIndex: 0 },
      /"cpu" cannot have the index 0/,
      /Leave model.deviceIndex out/,
    ],
    ["an index on webgpu", { device: "webgpu", deviceIndex: 1 }, /"webgpu" cannot have the index 1/, /cuda or dml/],
  ])("is refused with a typed error: %s", async (_, model, message, hint) => {
    const { createBackend } = await openCatalog();
    await expect(createBackend(engineOptions(parse(model)))).rejects.toMatchObject({
      code: "backend.unsupported",
      message: expect.stringMatching(message),
      hint: expect.stringMatching(hint),
    });
  });

  it.each([-1, 0.5, Number.NaN])("is not created with the index %d", (deviceIndex) => {
    expect(() => parse({ deviceIndex })).toThrow(expect.objectContaining({ code: "config.invalid" }));
  });
});
