import { createBubblewrapSandbox } from "../../sandbox/bubblewrap/create-bubblewrap-sandbox.ts";
import { createDockerJavaScriptSandbox } from "../../sandbox/docker/create-docker-javascript-sandbox.ts";
import { createDockerSandbox } from "../../sandbox/docker/create-docker-sandbox.ts";
import type { Sandbox } from "../../sandbox/index.ts";
import { createIsolatedVmSandbox } from "../../sandbox/isolated-vm/isolated-vm-sandbox.ts";
import { createPyodideSandbox } from "../../sandbox/pyodide/create-pyodide-sandbox.ts";
import type { SampleLanguage } from "./fault-samples.ts";

/** A sandbox for fault tests. */
export interface FaultySandbox {
  readonly language: SampleLanguage;
  readonly open: (options: { readonly workers: number }) => Promise<Sandbox> | Sandbox;
}

/** The name of a sandbox. */
export type SandboxName = "docker" | "docker-javascript" | "bubblewrap" | "pyodide" | "isolated-vm";

/** All sandboxes, by name. */
export const faultySandboxes: Readonly<Record<SandboxName, FaultySandbox>> = {
  docker: { language: "python", open: createDockerSandbox },
  "docker-javascript": { language: "javascript", open: createDockerJavaScriptSandbox },
  bubblewrap: { language: "python", open: createBubblewrapSandbox },
  pyodide: { language: "python", open: createPyodideSandbox },
  "isolated-vm": { language: "javascript", open: createIsolatedVmSandbox },
};

const required = (process.env.LYCEUM_TEST_SANDBOXES ?? "").split(",");

/** Returns why this machine has no such sandbox. Undefined if it has one. Rejects if it must have one. */
export async function missingRequirement(name: SandboxName): Promise<string | undefined> {
  try {
    await using sandbox = await faultySandboxes[name].open({ workers: 1 });
    void sandbox;
    return undefined;
  } catch (error) {
    if (required.includes(name)) throw error;
    return (error as Error).message;
  }
}
