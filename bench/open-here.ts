import { createSandbox, type Sandbox, type SandboxChoice } from "../sandbox/index.ts";
import { LyceumError } from "../src/contract/errors/index.ts";

/**
 * Opens a sandbox for Python. Returns undefined, with a line on standard error, if this machine has none of that kind.
 */
export async function openHere(backend: SandboxChoice, workers?: number): Promise<Sandbox | undefined> {
  try {
    return await createSandbox({ backend, language: "python", workers });
  } catch (error) {
    if (!LyceumError.isInstance(error) || error.code !== "sandbox.unavailable") throw error;
    console.error(`sandbox/${backend}: left out. ${error.message}`);
    return undefined;
  }
}
