import { createSandbox, type Language, type SandboxChoice } from "../../sandbox/index.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";

/** A sandbox, and why it does not run here, in brackets. Empty if it runs. */
export interface SoakBackend {
  readonly backend: SandboxChoice;
  readonly language: Language;
  readonly missing: string;
}

/** Every sandbox, whether it runs here or not. */
export const soakBackends: readonly SoakBackend[] = await Promise.all(
  (["docker", "bubblewrap", "pyodide", "isolated-vm"] as const).map(async (backend) => {
    const language = backend === "isolated-vm" ? "javascript" : "python";
    try {
      await using sandbox = await createSandbox({ backend, language, workers: 1 });
      void sandbox;
      return { backend, language, missing: "" } as const;
    } catch (error) {
      if (!LyceumError.isInstance(error)) throw error;
      return { backend, language, missing: `(skipped: ${error.message})` } as const;
    }
  }),
);
