import { afterAll, vi } from "vitest";
import type { Model, TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import type { OnnxBackendOptions } from "../../../trainers/backends/onnx/index.ts";

/** The engines of this test file, by their options. */
const engines = new Map<string, Promise<TrainingBackend>>();

/**
 * Returns an engine of the test file with these options. Starting an engine takes longer than most tests, so tests whose
 * subject is not its start use the same one. Closing it closes the models that were opened on it since.
 */
export async function sharedEngine(
  options: OnnxBackendOptions = { device: "cpu", threads: 1 },
): Promise<TrainingBackend> {
  const key = JSON.stringify(options);
  let starting = engines.get(key);
  if (starting === undefined) {
    const { createOnnxBackend } = await vi.importActual<typeof import("../../../trainers/backends/onnx/index.ts")>(
      "../../../trainers/backends/onnx/index.ts",
    );
    starting = engines.get(key) ?? createOnnxBackend(options);
    engines.set(key, starting);
  }
  const engine = await starting;
  const opened: Promise<Model>[] = [];
  const close = async (): Promise<void> => {
    for (const model of await Promise.allSettled(opened)) {
      if (model.status === "fulfilled") await model.value.close();
    }
  };
  return {
    specificationVersion: engine.specificationVersion,
    capabilities: engine.capabilities,
    openModel: (...given) => {
      const model = engine.openModel(...given);
      opened.push(model);
      return model;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

afterAll(async () => {
  for (const engine of engines.values()) await (await engine.catch(() => undefined))?.close();
});
