import { describe, expect, it } from "vitest";
import { engineOptions, namedEngine, openCatalog } from "../../cli/catalog.ts";
import { checkConfig, type TrainingConfigInput } from "../../trainers/config/training-config.ts";

const parse = (model: Partial<TrainingConfigInput["model"]>, training: TrainingConfigInput["training"] = {}) => ({
  ...checkConfig({ algorithm: { id: "sft" }, model: { scratch: {}, ...model }, training: { ...training } }),
  backend: { type: "onnx" } as const,
});

describe("the backend of a config", () => {
  it("is created with every key that selects what runs the model", () => {
    const limits = { maxTokensPerMicroBatch: 300 };
    const config = parse({ device: "cuda", precision: "float16", deviceIndex: 3, threads: 2 }, limits);
    expect(engineOptions(config)).toEqual({
      type: "onnx",
      device: "cuda",
      precision: "float16",
      deviceIndex: 3,
      threads: 2,
      ...limits,
    });
    const plain = parse({});
    const given = Object.entries(engineOptions(plain)).filter(([, value]) => value !== undefined);
    expect(given.map(([key]) => key)).toEqual(["type", "device", "precision"]);
  });

  it("has the bits of frozen weights, of a config and of a command line", () => {
    const backend = { type: "onnx", quantize: 4 } as const;
    expect(engineOptions({ ...parse({}), backend })).toMatchObject(backend);
    const named = { backend: "onnx", device: "auto", quantize: 8 } as const;
    expect(namedEngine(named)).toMatchObject({ type: "onnx", quantize: 8, roundInputs: true });
    // What a training samples is compared with what it learns.
    expect(engineOptions({ ...parse({}), backend })).not.toHaveProperty("roundInputs");
    expect(namedEngine(named, { trains: true })).toMatchObject({ quantize: 8, roundInputs: false });
    expect(namedEngine({ backend: "torch", device: "cpu", quantize: 8 })).toMatchObject({ type: "torch", quantize: 8 });
  });

  it("of PyTorch has its own precision, and refuses the devices that it does not have", () => {
    const backend = { type: "torch", recompute: true, precision: "bfloat16" } as const;
    const options = engineOptions({ ...parse({ device: "cuda", threads: 2 }), backend });
    expect(options).toMatchObject({ ...backend, device: "cuda", threads: 2 });
    const refused = (named: RegExp) =>
      expect.objectContaining({ code: "config.invalid", message: expect.stringMatching(named) });
    expect(() => engineOptions({ ...parse({ precision: "float16" }), backend })).toThrow(refused(/model.precision/));
    expect(() => engineOptions({ ...parse({ device: "webgpu" }), backend })).toThrow(refused(/webgpu/));
    expect(() => namedEngine({ backend: "torch", device: "dml" })).toThrow(refused(/dml/));
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
