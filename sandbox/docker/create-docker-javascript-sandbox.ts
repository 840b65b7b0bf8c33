import { constants } from "node:os";
import { type ChildConnection, childFlags } from "../isolated-vm/child-connection.ts";
import { childBootstrap, readChildSources } from "../isolated-vm/child-sources.ts";
import { startIsolatedVmWorker } from "../isolated-vm/start-worker.ts";
import { frame } from "../pool/frames.ts";
import type { Sandbox } from "../sandbox.ts";
import type { ContainerProgram, RunningContainer } from "./container.ts";
import { type ContainerPoolOptions, createContainerPool } from "./container-pool.ts";

const maxJobs = 5_000;
const maxRssMb = 400;

/** Runs as nobody, without capabilities. The child needs no files: its program arrives on its standard input. */
const program: ContainerProgram = {
  command: ["node", ...childFlags, "--input-type=module", "--eval", childBootstrap],
  environment: { PATH: "/usr/local/bin:/usr/bin:/bin" },
  user: "65534:65534",
  capabilities: [],
};

/**
 * Creates a sandbox that runs JavaScript and TypeScript with isolated-vm in Docker containers. Each execution has a
 * fresh V8 isolate in a process that is alone in its container, without network or root. Only `/tmp` is writable. Code
 * that breaks out of V8 is still in the container. Containers of killed processes are removed first. Rejects with
 * `sandbox.unavailable` if no engine answers or the image is missing.
 */
export async function createDockerJavaScriptSandbox(options: ContainerPoolOptions = {}): Promise<Sandbox> {
  const { image = "lyceum-sandbox-javascript" } = options;
  const sources = frame(await readChildSources());
  return createContainerPool(
    { ...options, image },
    {
      recipe: new URL("./javascript/", import.meta.url),
      program,
      open: (container, progress) => {
        container.input.write(sources);
        return startIsolatedVmWorker({ connection: connectionOf(container), progress, maxJobs, maxRssMb });
      },
      describe: ({ version }) => ({
        languages: ["javascript", "typescript"],
        version: `${image}, ${version}`,
        packages: [],
      }),
    },
  );
}

function connectionOf(container: RunningContainer): ChildConnection {
  const { input, output, stderrText, cpuMs, kill, exited, outOfMemory } = container;
  const ended = exited.then((code) => {
    if (code === undefined) return "the removal of its container";
    const signal = Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
    return signal ?? `code ${code}`;
  });
  return { input, output, stderrText, cpuMs, kill, ended, outOfMemory };
}
