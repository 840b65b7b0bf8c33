/*
 * Trains from a config file, as `lyceum train` does. Start from this program if the command is not enough.
 *
 *   npm run example examples/training/from-config.ts examples/training/arithmetic-sft.yaml [folder]
 */
import { readFile } from "node:fs/promises";
import { environments } from "lyceum/environments";
import { createOnnxBackend } from "lyceum/onnx";
import { recordRun, showTraining } from "lyceum/reports";
import { train } from "lyceum/trainers";
import { parse } from "yaml";

const [path, output = "runs/from-config"] = process.argv.slice(2);
if (path === undefined) throw new Error("Name a config, such as examples/training/arithmetic-sft.yaml.");

const { environment: named, ...config } = parse(await readFile(path, "utf8"));
const { id, ...environmentOptions } = named;

await using backend = await createOnnxBackend({ device: config.model.device ?? "auto" });
// Invalid config values raise an error that names each key. The environment checks its options, train checks the rest.
const environment = environments.create(id, environmentOptions);
const events = train({ config, environment, environmentOptions, backend, output });
const color = process.stdout.hasColors?.() ?? false;
await showTraining(recordRun(events, { folder: output }), { stream: process.stdout, color });
