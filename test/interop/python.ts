import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Json } from "../../src/contract/json.ts";
import { execute } from "./execute.ts";
import { pythonOf } from "./python-environment.ts";

/**
 * Runs a script of test/interop/python with a request and returns its response (see python/contract.py). Killed after
 * `timeoutMs`, 10 minutes by default, or if the signal aborts.
 */
export async function runPython<Response>(options: {
  /** The folder of the virtual environment. */
  readonly environment: string;
  /** File name without `.py`. */
  readonly script: string;
  readonly request: Json;
  /** A folder of additional packages. */
  readonly packages?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}): Promise<Response> {
  const { environment, script, request, packages, timeoutMs = 600_000, signal } = options;
  const folder = await mkdtemp(join(tmpdir(), "lyceum-interop-"));
  try {
    const requestFile = join(folder, "request.json");
    const responseFile = join(folder, "response.json");
    await writeFile(requestFile, JSON.stringify(request));
    const scriptFile = join(import.meta.dirname, "python", `${script}.py`);
    await execute(pythonOf(environment), [scriptFile, requestFile, responseFile], {
      timeoutMs,
      environment: {
        // Compiled files go to the environment, not next to the scripts.
        PYTHONPYCACHEPREFIX: join(environment, "pycache"),
        PYTHONDONTWRITEBYTECODE: "",
        PYTHONWARNINGS: "ignore",
        HF_HUB_OFFLINE: "1",
        HF_HUB_DISABLE_PROGRESS_BARS: "1",
        TOKENIZERS_PARALLELISM: "false",
        CUDA_VISIBLE_DEVICES: "",
        ...(packages === undefined ? {} : { PYTHONPATH: packages }),
      },
      ...(signal === undefined ? {} : { signal }),
    });
    return JSON.parse(await readFile(responseFile, "utf8")) as Response;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
