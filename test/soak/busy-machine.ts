import { spawn } from "node:child_process";

/** Busy processes end after this many seconds, also if the test is killed. */
const longestSeconds = 170;

/** Starts processes that use the processor until it is disposed. */
export function busyProcesses(count: number): Disposable {
  const loop = ["-c", `while :; do :; done`];
  const children = Array.from({ length: count }, () =>
    spawn("timeout", ["-s", "KILL", `${longestSeconds}`, "/bin/sh", ...loop], { stdio: "ignore", detached: true }),
  );
  return {
    [Symbol.dispose]: () => {
      for (const { pid, exitCode, signalCode } of children) {
        if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, "SIGKILL");
      }
    },
  };
}
