import { setTimeout as wait } from "node:timers/promises";
import type { Workspace } from "../../sandbox/index.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { HarborHealthcheck } from "./task-config.ts";

/**
 * Runs the health check of a task in a started container until it passes. Throws `sandbox.unavailable` after its number
 * of failures in a row, so that the episode is unscored.
 */
export async function untilHealthy(
  workspace: Workspace,
  check: HarborHealthcheck,
  { folder, signal }: { readonly folder?: string | undefined; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const { command, timeout, interval, retries, startPeriod, startInterval } = check;
  const countsFrom = performance.now() + 1000 * startPeriod;
  for (let failures = 0; ; ) {
    const isStarting = performance.now() < countsFrom;
    const { exitCode, output } = await workspace.run({
      command: ["/bin/bash", "-c", command],
      limitMs: 1000 * timeout,
      folder,
      signal,
    });
    if (exitCode === 0) return;
    if (!isStarting && ++failures >= retries) throw unhealthy(check, output);
    await wait(1000 * (isStarting ? startInterval : interval), undefined, { signal });
  }
}

function unhealthy({ command, retries }: HarborHealthcheck, output: string): LyceumError {
  return new LyceumError({
    code: "sandbox.unavailable",
    message: `The task's health check (environment.healthcheck) failed ${retries} times: ${command}. ${output.slice(-500)}`,
    hint: "The container runs without the entry point of its image. A service that the check needs must be started by its command.",
  });
}
