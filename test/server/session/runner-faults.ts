import { isMainThread } from "node:worker_threads";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";

/** The environment of a fault: a step with the text `go` commits it. */
function fault(id: string, commit: () => unknown): EnvironmentDefinition {
  return defineEnvironment({
    id,
    tasks: ["only"],
    maxTurns: 9,
    reset: () => "Go?",
    step: async ({ text }) => {
      if (text === "go") await commit();
      return { reward: 0, reply: "Again?" };
    },
  }) as EnvironmentDefinition;
}

/** Environments that fail in ways that no error reports. Only a worker thread survives them. */
export const faults: readonly EnvironmentDefinition[] = [
  fault("ends", () => {
    if (!isMainThread) process.exit(3);
  }),
  fault("throws-later", () => {
    setTimeout(() => {
      throw new Error("Nobody waits for this.");
    });
    return new Promise(() => {});
  }),
  fault("rejects-later", () => {
    void Promise.reject(new Error("Nobody handles this."));
    return new Promise(() => {});
  }),
  fault("loops", () => {
    for (;;);
  }),
  fault("fills-memory", () => {
    const kept: unknown[] = [];
    for (let index = 0; ; index++) kept.push(Array.from({ length: 1_000 }, () => ({ index })));
  }),
  // Typed arrays are outside the heap. It does not give the thread back meanwhile.
  fault("fills-buffers", () => {
    const kept: unknown[] = [];
    for (;;) {
      kept.push(new Uint8Array(2 ** 20).fill(1));
      for (const end = performance.now() + 1; performance.now() < end; );
    }
  }),
  // Ignores its signal.
  fault("hangs", () => new Promise(() => {})),
];
