import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execute } from "./execute.ts";
import type { Completion, HumanEvalRow } from "./human-eval-harness.ts";
import { pythonOf } from "./python-environment.ts";

const bubblewrap = ["/usr/bin/bwrap", "/usr/local/bin/bwrap"].find((file) => existsSync(file));

/** True if {@link checkContained} can run here. */
export const canContain: boolean = bubblewrap !== undefined;

/**
 * Returns the verdict of the original HumanEval harness on each completion, like `checkByHumanEval`, in separate
 * namespaces. The code may kill every process that it sees. Undefined if the harness ended before its answer.
 */
export async function checkContained(options: {
  readonly environment: string;
  readonly problems: readonly HumanEvalRow[];
  readonly checks: readonly Completion[];
  /** Seconds of each check. */
  readonly timeout: number;
}): Promise<readonly (string | null)[] | undefined> {
  const { environment, ...request } = options;
  const folder = await mkdtemp(join(tmpdir(), "lyceum-interop-"));
  try {
    const [requestFile, responseFile] = [join(folder, "request.json"), join(folder, "response.json")];
    await writeFile(requestFile, JSON.stringify({ ...request, workers: 1 }));
    const script = join(import.meta.dirname, "python", "human_eval_checks.py");
    const walls = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--ro-bind", "/", "/"];
    const places = ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", folder, folder, "--chdir", folder];
    const program = [pythonOf(environment), "-B", script, requestFile, responseFile];
    // The process may have been stopped by the code.
    const timeoutMs = 30_000 + options.checks.length * options.timeout * 3_000;
    await execute(bubblewrap!, [...walls, ...places, "--", ...program], { timeoutMs }).catch(() => undefined);
    const answer = await readFile(responseFile, "utf8").catch(() => "null");
    return (JSON.parse(answer) as (string | null)[] | null) ?? undefined;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
