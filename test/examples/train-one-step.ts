import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { vi } from "vitest";
import { stringify } from "yaml";
import { openCatalog } from "../../cli/catalog.ts";
import { trainCommand } from "../../cli/train-command.ts";
import type { OnnxBackendOptions } from "../../trainers/backends/onnx/index.ts";
import { sharedEngine } from "../backends/onnx/shared-engine.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import type { TinyHub } from "./tiny-hub.ts";

/** The output of a run, until it is disposed. */
export interface OneStepRun extends AsyncDisposable {
  readonly folder: string;
  /** The text that was shown. */
  readonly output: string;
}

/** Trains one small step of a config, as `lyceum train` does. The config is a file's path or data. */
export async function trainOneStep(options: {
  readonly config: string | object;
  readonly hub: TinyHub;
  readonly set?: readonly string[];
  /** Only probes, like `--probe`. */
  readonly probe?: boolean;
}): Promise<OneStepRun> {
  const { probe = false } = options;
  const folder = temporaryFolder();
  const dispose = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    for (const [name, value] of Object.entries(options.hub.environment)) vi.stubEnv(name, value);
    let path = join(folder, "config.yaml");
    if (typeof options.config === "string") path = options.config;
    else await writeFile(path, stringify(options.config));
    let output = "";
    const write = (text: string): boolean => {
      output += text;
      return true;
    };
    const set = [
      ...["training.steps=1", "training.warmupSteps=0", "training.batchSize=2", "sampling.maxTokens=8"],
      ...["evaluation.limit=2", "model.device=cpu", "model.threads=1", "checkpoint.every=0", "probe.groups=0"],
      ...(options.set ?? []),
    ];
    await trainCommand(
      { config: path, set, resume: false, output: folder, probe },
      {
        catalog: {
          ...(await openCatalog()),
          createBackend: ({ type: _, ...options }) => sharedEngine(options as OnnxBackendOptions),
        },
        view: { stream: { write }, color: false },
        signal: new AbortController().signal,
        resumeCommand: () => "",
      },
    );
    return { folder, output, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  } finally {
    vi.unstubAllEnvs();
  }
}
