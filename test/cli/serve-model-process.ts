import type { ChildProcess } from "node:child_process";
import { onTestFinished } from "vitest";
import { type LyceumResult, lyceum } from "./run-lyceum.ts";

/** A running `lyceum serve-model`. */
export interface ServeModelProcess {
  readonly url: string;
  readonly child: ChildProcess;
  readonly ended: Promise<LyceumResult>;
}

/** Starts `lyceum serve-model` on the CPU. It ends with the test. */
export async function serveModel(args: readonly string[], folder: string): Promise<ServeModelProcess> {
  const ready = Promise.withResolvers<Pick<ServeModelProcess, "url" | "child">>();
  const ended = lyceum(["serve-model", ...args, "--device", "cpu"], {
    folder,
    onOutput: (output, child) => {
      const [, url] = /at (http:\S+)/.exec(output) ?? [];
      if (url !== undefined) ready.resolve({ url, child });
    },
  });
  void ended.then(({ stderr }) => ready.reject(new Error(stderr)));
  const { url, child } = await ready.promise;
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  return { url, child, ended };
}
