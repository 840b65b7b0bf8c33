import { spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.ts";

/** A local tracking server of PyPI's `mlflow`, with its database in `folder`. Closing it ends the process. */
export async function startRealMlflowServer(options: {
  /** The folder of the Python environment. */
  readonly environment: string;
  readonly folder: string;
}): Promise<{ readonly url: string } & AsyncDisposable> {
  const { environment, folder } = options;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(
    join(environment, "bin", "python"),
    [
      ...["-m", "mlflow", "server", "--host", "127.0.0.1", "--port", String(port), "--workers", "1"],
      ...["--backend-store-uri", `sqlite:///${join(folder, "mlflow.db")}`],
      ...["--default-artifact-root", join(folder, "artifacts")],
    ],
    // A separate process group, because the server has child processes.
    { detached: true, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, MLFLOW_DISABLE_TELEMETRY: "true" } },
  );
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-4_000);
    });
  }
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  const stop = async (): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
    await ended;
  };
  for (const deadline = Date.now() + 240_000; ; await sleep(500)) {
    const healthy = await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (healthy) return { url, [Symbol.asyncDispose]: stop };
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop();
      throw new Error(`The MLflow server did not start:\n${said}`);
    }
  }
}
