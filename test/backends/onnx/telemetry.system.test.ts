import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { expect, it } from "vitest";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { tinyConfig } from "./tiny-config.ts";

it("ONNX Runtime collects no usage data: it writes no file for them", async () => {
  const source = { type: "scratch", config: tinyConfig, seed: 1 } as const;
  {
    await using backend = await createOnnxBackend({ device: "cpu", threads: 1 });
    const model = await backend.openModel({ source, trainable: { type: "frozen" } });
    const datum = { tokens: Int32Array.of(1), targets: Int32Array.of(2), lossMask: Float32Array.of(1) };
    await model.forward([datum], { outputs: ["logprobs"] });
  }
  expect(await readdir(tmpdir())).toEqual([]);
});
