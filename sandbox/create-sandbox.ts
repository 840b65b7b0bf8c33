import { LyceumError, toErrorData } from "../src/contract/errors/index.ts";
import type { Language } from "./execution.ts";
import type { Sandbox, SandboxInfo } from "./sandbox.ts";

/** The sandbox backend to run code in. `auto` takes the first that works. */
export type SandboxChoice = "auto" | SandboxInfo["backend"];

/** The options of {@link createSandbox}. */
export interface CreateSandboxOptions {
  readonly language: Language;
  /** `auto` by default. */
  readonly backend?: SandboxChoice;
  /** Number of executions at a time. The number of processors by default. */
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
 * Creates a sandbox for a language. `info.backend` names the chosen backend. For Python, `auto` takes Docker if an
 * engine answers and has the image, else bubblewrap, else Pyodide, which works everywhere. For JavaScript and
 * TypeScript, it takes Docker under the same conditions, else isolated-vm in local processes. Rejects with
 * `sandbox.unavailable` if no backend works, and with `sandbox.request` if the backend does not run the language.
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
      return await backends[name]!({ workers, signal });
    } catch (error) {
      if (backend !== "auto" || signal?.aborted === true) throw error;
      reasons.push(`${name}: ${toErrorData(error).message}`);
    }
  }
  throw new LyceumError({
    code: "sandbox.unavailable",
    message: `No sandbox for ${language} works here. ${reasons.join(" ")}`,
    hint: "Start Docker and build the image, or fix one of the causes above.",
  });
}
