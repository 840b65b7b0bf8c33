import { expect, it } from "vitest";
import { engineOptions, openCatalog } from "../../cli/catalog.ts";
import { checkConfig } from "../../trainers/config/training-config.ts";

it.each([
  ["a GPU that is not there", { device: "cuda", deviceIndex: 99 } as const],
  ["any GPU that is not there", { deviceIndex: 99 }],
])("the backend of a config is refused with a typed error: %s", async (_, model) => {
  const { createBackend } = await openCatalog();
  const config = checkConfig({ algorithm: { id: "sft" }, model: { scratch: {}, ...model } });
  await expect(createBackend(engineOptions({ ...config, backend: { type: "onnx" } }))).rejects.toMatchObject({
    code: "backend.unsupported",
    message: expect.stringMatching(/"cuda" of index 99 does not work/),
    hint: expect.stringMatching(/count from 0/),
  });
});
