import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { execute } from "./execute.ts";
import { provideFolder, pythonOf } from "./python-environment.ts";

/**
 * Returns the Hugging Face folder of SmolLM2-135M-Instruct. It is converted once, and stored next to the packages of the
 * interop environment, from which its weights are.
 */
export async function provideSmolLM2(environment: string): Promise<string> {
  const script = join(import.meta.dirname, "python", "convert_gguf.py");
  const hash = createHash("sha256").update(await readFile(script));
  const folder = join(environment, "models", `smollm2-135m-instruct-${hash.digest("hex").slice(0, 8)}`);
  await provideFolder(folder, async (partial) => {
    console.log(`Converting SmolLM2-135M-Instruct to ${folder} (once).`);
    await execute(pythonOf(environment), [script, partial], { timeoutMs: 300_000 });
  });
  return folder;
}
