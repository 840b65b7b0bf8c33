import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { afterAll } from "vitest";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { createTinkerBackend } from "../../../trainers/backends/tinker/index.ts";
import { shareOf } from "../../tier.ts";
import { describeBackend } from "../../trainers/describe-backend.ts";
import { startTinkerServer } from "./tinker-server.ts";
import { tinyModel } from "./tiny-model.ts";

const folder = await mkdtemp(`${tmpdir()}/lyceum-tinker-`);
const backend = await createOnnxBackend({ device: "cpu", threads: 1 });
const source = await tinyModel(backend, folder);
const server = await startTinkerServer({ backend, source });
const binary = await startTinkerServer({ backend, source, binary: true, uneven: true });
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await binary[Symbol.asyncDispose]();
  await backend.close();
  await rm(folder, { recursive: true });
});

describeBackend("a server that sums losses", {
  create: () => createTinkerBackend({ url: server.url, times: { delayMs: 1 } }),
  specs: { full: { source, trainable: { type: "full" } } },
});

// The two servers have a half of the cases of adapters each.
describeBackend("a server that sums losses, with adapters", {
  create: () => createTinkerBackend({ url: server.url, times: { delayMs: 1 } }),
  specs: { lora: { source, trainable: { type: "lora", lora: { rank: 4, seed: 3 } } } },
  share: (cases) => shareOf(cases, { engine: 0, of: 2 }),
});

describeBackend("a server that accepts passes only in the binary encoding, and gets samples at different times", {
  create: () => createTinkerBackend({ url: binary.url, times: { delayMs: 1 } }),
  specs: { lora: { source, trainable: { type: "lora", lora: { rank: 4, seed: 3 } } } },
  share: (cases) => shareOf(cases, { engine: 1, of: 2 }),
});
