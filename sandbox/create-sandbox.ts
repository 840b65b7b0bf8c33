import { LyceumError, toErrorData } from "../src/contract/errors/index.ts";
import type { Language } from "./execution.ts";
import type { Sandbox, SandboxInfo } from "./sandbox.ts";

/** Which sandbox to run code in; `auto` takes the first that works. */
export type SandboxChoice = "auto" | SandboxInfo["backend"];

/** What {@link createSandbox} is asked for. */
export interface CreateSandboxOptions {
  readonly language: Language;
  /** `auto` by default. */
  readonly backend?: SandboxChoice;
  /** Executions at a time; as many as there are processors by default. */
  readonly workers?: number;
  readonly signal?: AbortSignal;
}

type Open = (options: { readonly workers?: number; readonly signal?: AbortSignal }) => Promise<Sandbox>;

const python: Readonly<Record<"docker" | "bubblewrap" | "pyodide", Open>> = {
  docker: async (options) => (await import("./docker/create-docker-sandbox.ts")).createDockerSandbox(options),
  bubblewrap: async (options) =>
    (await import("./bubblewrap/create-bubblewrap-sandbox.ts")).createBubblewrapSandbox(options),
  pyodide: async (options) => (await import("./pyodide/create-pyodide-sandbox.ts")).createPyodideSandbox(options),
};

const javascript: Readonly<Record<"docker" | "isolated-vm", Open>> = {
  docker: async (options) =>
    (await import("./docker/create-docker-javascript-sandbox.ts")).createDockerJavaScriptSandbox(options),
  "isolated-vm": async (options) =>
    (await import("./isolated-vm/isolated-vm-sandbox.ts")).createIsolatedVmSandbox(options),
};

/**
 * A sandbox for a language; its `info.backend` says which it is. For Python, `auto` takes Docker where an engine
 * answers and the image is there, else bubblewrap, else Pyodide, which works everywhere; for JavaScript and TypeScript,
 * Docker on the same terms, else isolated-vm in processes of this machine. Rejects with
 * `sandbox.unavailable` where none works, `sandbox.request` where the backend does not run the language.
 */
export async function createSandbox(options: CreateSandboxOptions): Promise<Sandbox> {
  const { language, backend = "auto", workers, signal } = options;
  const backends: Readonly<Record<string, Open>> = language === "python" ? python : javascript;
  const names = Object.keys(backends);
  if (backend !== "auto" && !names.includes(backend)) {
    throw new LyceumError({
      code: "sandbox.request",
      message: `The ${backend} sandbox does not run ${language}.`,
      hint: `Choose auto or one of: ${names.join(", ")}.`,
    });
  }
  const reasons: string[] = [];
  for (const name of backend === "auto" ? names : [backend]) {
    signal?.throwIfAborted();
    try {
      return await backends[name]!({
        ...(workers === undefined ? {} : { workers }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      if (backend !== "auto" || signal?.aborted === true) throw error;
      reasons.push(`${name}: ${toErrorData(error).message}`);
    }
  }
  throw new LyceumError({
    code: "sandbox.unavailable",
    message: `No sandbox for ${language} works here. ${reasons.join(" ")}`,
    hint: "Start Docker and build the image, or see above what keeps the others from starting.",
  });
}
