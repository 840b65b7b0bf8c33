import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import type { Json } from "../../src/contract/json.ts";
import { tinyCheckpoints, tinyVocabularySize } from "./checkpoints.ts";
import { runPython, startPython } from "./python.ts";
import { interopEnvironment, providePythonEnvironment } from "./python-environment.ts";
import { provideSmolLM2 } from "./smollm2.ts";
import { makeCorpus } from "./texts.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The shared data of the interop suite. */
    readonly interop: {
      /** The folder of the Python virtual environment. */
      readonly environment: string;
      /** Folders of the small tokenizers, by kind. */
      readonly tokenizers: Readonly<Record<string, string>>;
      /** The folder that holds the tiny checkpoints, each under its name. */
      readonly checkpoints: string;
      /** The folder of SmolLM2-135M-Instruct. */
      readonly smollm2: string;
      /** True for `LYCEUM_INTEROP=quick`. */
      readonly quick: boolean;
    };
  }
}

/** Vitest's global setup of the interop project. Creates what every file needs, once, before any test runs. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const quick = process.env.LYCEUM_INTEROP === "quick";
  const environment = process.env.LYCEUM_INTEROP_VENV || (await providePythonEnvironment(interopEnvironment));
  const smollm2 = await provideSmolLM2(environment);
  const folder = await mkdtemp(join(tmpdir(), "lyceum-interop-"));
  const server = await startPython(environment);
  const tearDown = async (): Promise<void> => {
    await server[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const tokenizers = await runPython<Record<string, string>>({
      environment,
      script: "make_tokenizers",
      request: {
        folder: join(folder, "tokenizers"),
        corpus: makeCorpus({ count: 2_000, seed: 1 }),
        vocabularySize: tinyVocabularySize,
      },
    });
    const checkpoints = join(folder, "checkpoints");
    const wanted = tinyCheckpoints(quick).map((checkpoint, index): Json => {
      const { name, tokenizer, ...rest } = checkpoint;
      return { ...rest, folder: join(checkpoints, name), tokenizer: tokenizers[tokenizer]!, seed: index + 1 };
    });
    await runPython({ environment, script: "make_checkpoints", request: { checkpoints: wanted } });
    project.provide("interop", { environment, tokenizers, checkpoints, smollm2, quick });
    return tearDown;
  } catch (error) {
    await tearDown();
    throw error;
  }
}
