import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import type { Json } from "../../src/contract/json.ts";
import { tinyCheckpoints, tinyVocabularySize } from "./checkpoints.ts";
import { execute } from "./execute.ts";
import { runPython } from "./python.ts";
import { interopEnvironment, provideFolder, providePythonEnvironment, pythonOf } from "./python-environment.ts";
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
  const tearDown = (): Promise<void> => rm(folder, { recursive: true, force: true });
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

/** The folder of the real checkpoint, converted once and stored next to the Python environment's packages. */
async function provideSmolLM2(environment: string): Promise<string> {
  const script = join(import.meta.dirname, "python", "convert_gguf.py");
  const hash = createHash("sha256").update(await readFile(script));
  const folder = join(environment, "models", `smollm2-135m-instruct-${hash.digest("hex").slice(0, 8)}`);
  await provideFolder(folder, async (partial) => {
    console.log(`Converting SmolLM2-135M-Instruct to ${folder} (once).`);
    await execute(pythonOf(environment), [script, partial], { timeoutMs: 300_000 });
  });
  return folder;
}
