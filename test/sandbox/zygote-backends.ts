import { createBubblewrapSandbox } from "../../sandbox/bubblewrap/create-bubblewrap-sandbox.ts";
import { createDockerSandbox } from "../../sandbox/docker/create-docker-sandbox.ts";
import type { ExecuteRequest, ExecuteResult, ExecuteTask, Limits, PlainValue, Sandbox } from "../../sandbox/index.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";

/** A sandbox over the forking runner, or the reason why this machine has none. */
export interface ZygoteBackend {
  readonly name: string;
  readonly open: (options?: { readonly workers?: number }) => Promise<Sandbox>;
  readonly missing: string | undefined;
}

/** Sandboxes that must be present, so that their tests are not skipped unnoticed. */
const required = (process.env.LYCEUM_TEST_SANDBOXES ?? "").split(",");

/** The launchers of the forking runner. */
export const zygoteBackends: readonly ZygoteBackend[] = await Promise.all([
  backend("docker", createDockerSandbox),
  backend("bubblewrap", createBubblewrapSandbox),
]);

async function backend(name: string, open: ZygoteBackend["open"]): Promise<ZygoteBackend> {
  let missing: string | undefined;
  try {
    await using sandbox = await open({ workers: 1 });
    void sandbox;
  } catch (error) {
    if (!LyceumError.isInstance(error) || required.includes(name)) throw error;
    missing = `${error.message} ${error.hint}`;
  }
  return { name: missing === undefined ? name : `${name} (skipped: ${missing})`, open, missing };
}

/** Runs one file of Python. */
export function runPython(
  sandbox: Sandbox,
  options: {
    readonly code: string;
    readonly task: ExecuteTask;
    readonly limits?: Partial<Limits>;
    readonly seed?: number;
    readonly files?: Readonly<Record<string, string>>;
    readonly signal?: AbortSignal;
  },
): Promise<ExecuteResult> {
  const { code, files, ...rest } = options;
  const request: ExecuteRequest = {
    language: "python",
    files: { "solution.py": code, ...files },
    entry: "solution.py",
    ...rest,
  };
  return sandbox.execute(request);
}

/** A task that calls a function with these lists of arguments. */
export function calls(name: string, ...args: readonly (readonly PlainValue[])[]): ExecuteTask {
  return { kind: "calls", function: name, cases: args.map((each) => ({ args: each })) };
}

/** An int. */
export function int(value: number | bigint): PlainValue {
  return { int: String(value) };
}
