import { rm } from "node:fs/promises";
import type { TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { startTinkerServer, type TinkerServer, type TinkerServerOptions } from "./tinker-server.ts";
import { type TinyModel, tinyModel } from "./tiny-model.ts";

/** A tiny model, the engine that runs it, and servers in front of it. */
export interface ServedModel extends AsyncDisposable {
  readonly engine: TrainingBackend;
  readonly source: TinyModel;
  serve(options?: Omit<TinkerServerOptions, "backend" | "source">): Promise<TinkerServer>;
}

/** Creates a {@link ServedModel}. Disposal ends the servers too. */
export async function servedModel(): Promise<ServedModel> {
  await using resources = new AsyncDisposableStack();
  const folder = temporaryFolder();
  resources.defer(() => rm(folder, { recursive: true, force: true }));
  const engine = resources.use(await createOnnxBackend({ device: "cpu", threads: 1 }));
  const source = await tinyModel(engine, folder);
  const owned = resources.move();
  return {
    engine,
    source,
    serve: async (options) => owned.use(await startTinkerServer({ ...options, backend: engine, source })),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
